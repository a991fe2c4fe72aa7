"""The shop's database: its migrations, its seed, a fresh copy for each trial, and the audit of its invariants."""
