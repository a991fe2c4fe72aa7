"""Targets other than the shop under load."""
