"""Whether the claims of published studies hold: each study is replayed as designed; each claim gets a verdict."""
