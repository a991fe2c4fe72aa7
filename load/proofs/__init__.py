"""Proofs of the shop and of the instrument where the truth is known, and how fast the instrument is."""
