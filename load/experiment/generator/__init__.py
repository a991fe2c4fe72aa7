"""The load generator as a process, and its tapes."""
