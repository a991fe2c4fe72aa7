"""Whether the figures of a trial or an experiment may be trusted."""
