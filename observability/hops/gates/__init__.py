"""Whether the figures of a trial or an experiment can be trusted."""
