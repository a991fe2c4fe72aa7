"""Turns traces into hop budgets, statistics and a report.

Each folder imports only from folders below it:

- `commands`: what `python -m hops` can do.
- `report`, `terminal`: results for people, made of the same elements.
- `tables`: the tables and sentences of a summary, made once for both. `proofs`: whether statistics and budgets are
  right, shown on data whose true values are known.
- `conclusions`: what a comparison shows, in sentences. `synthetic`: synthetic traces, runs and experiments.
- `analysis`: the figures of a run, with intervals and comparisons.
- `gates`: whether the figures may be trusted.
- `run`: the rows, documents and files of a run.
- `budget`: how a trace's time is split into parts. `statistics`: estimates and intervals over blocks.
- `traces`: spans from OTLP and Jaeger, as trees with a critical path.
- `elements`: what a section is made of, and how a figure reads.
"""
