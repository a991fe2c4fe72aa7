"""Traces to hop budgets to statistics.

`otlp` and `jaeger` read spans, `tree` and `critical_path` find what a customer waited for, `budget` names it, `bands`
and `statistics` condense it, `evidence` and `gates` say whether it may be trusted, `summary` and `render` show it.
"""
