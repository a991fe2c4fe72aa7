"""The figures of any system's traces: budgets by root operation, limits, predictions, and comparisons of two sets."""
