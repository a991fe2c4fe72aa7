"""Made-up traces, runs and experiments whose truth is known."""
