"""Turns traces into hop budgets, statistics and a report.

Each folder imports only from folders below it:

- `commands`: what `python -m hops` can do.
- `kinds`: what each kind of experiment adds to summary and report.
- `report`, `terminal`: results for people, made of the same elements.
- `tables`: the tables of a summary, made once for both.
- `conclusions`: what a comparison shows, in sentences.
- `analysis`: the figures of a run, with intervals and comparisons.
- `gates`: whether the figures may be trusted.
- `run`: the rows, documents and files of a run.
- `budget`: how a trace's time is split into parts. `sources`: traces of any system, from files and stores.
- `statistics`: estimates and intervals over blocks.
- `traces`: spans from OTLP and Jaeger, as trees with a critical path.
- `elements`: what a section is made of, and how a figure reads.
"""
