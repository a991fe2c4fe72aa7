"""The figures of traces of any system: budgets by root operation, limits, predictions, and what two sets differ in."""
