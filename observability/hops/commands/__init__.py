"""What `python -m hops` can do."""
