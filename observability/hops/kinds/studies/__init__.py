"""Whether the claims of published studies hold: each study is replayed as it was designed; each claim gets a verdict."""
