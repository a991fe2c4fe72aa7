"""Estimates and intervals over blocks."""
