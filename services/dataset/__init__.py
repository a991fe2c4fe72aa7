"""The data of experiments: seeded databases, a fresh copy for each trial, and the audit of the shop's invariants."""
