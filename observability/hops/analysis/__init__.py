"""The figures of a run, with intervals and comparisons."""
