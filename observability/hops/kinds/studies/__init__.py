"""Whether the claims of published studies hold: each study is replayed by its own design; each claim gets a verdict."""
