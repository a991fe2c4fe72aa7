"""Proofs of intervals and verdicts, on synthetic data or on rows of a real run whose truth is known."""
