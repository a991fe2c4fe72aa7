"""Turns traces into hop budgets, statistics and a report.

Each folder imports only from folders below it:

- `commands`: what `python -m hops` can do.
- `kinds`: what each kind of experiment adds to the summary and the report.
- `report`, `terminal`: results for people, built from the same elements.
- `tables`: the tables of a summary, shared by `report` and `terminal`.
- `conclusions`: what a comparison shows, in sentences.
- `analysis`: the figures of a run, with intervals and comparisons.
- `gates`: whether the figures may be trusted.
- `run`: the rows, documents and files of a run.
- `budget`: how a trace's time is split into parts. `sources`: traces of any system, from files and stores.
- `statistics`: estimates and intervals over blocks.
- `traces`: spans from OTLP and Jaeger, as trees with a critical path.
- `elements`: the building blocks of a section, and the format of figures.
"""
