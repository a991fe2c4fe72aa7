"""The shop's programs with what an experiment needs besides: span recorders, injected delay, stores in memory."""
