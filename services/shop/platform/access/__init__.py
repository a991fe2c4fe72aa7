"""Identifies callers by their tokens or certificates, and decides what each caller may do."""
