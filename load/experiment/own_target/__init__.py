"""A target that is not the shop: its file, the steps that the generator runs, and its trials."""
