"""The shapes of `summary.json` and `trials.json`: what programs can rely on."""

SCHEMA = 3
