"""Proofs of the shop: customers use it while its components are killed or hostile clients attack it."""
