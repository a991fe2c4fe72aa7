"""Proofs of the shop and the instrument where the truth is known, and benchmarks of the instrument."""
