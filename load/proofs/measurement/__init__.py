"""Proofs of the measurement on the real shop, into which a known effect is injected."""
