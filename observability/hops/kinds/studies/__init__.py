"""Whether the claims of published studies hold: each replayed by its own design, and each claim given a verdict."""
