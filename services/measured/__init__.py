"""The shop's programs with additions for experiments: span recorders, injected delay, stores in memory."""
