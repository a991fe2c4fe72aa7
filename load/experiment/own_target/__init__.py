"""Targets other than the shop: the target file, the steps for the generator, and the trials."""
