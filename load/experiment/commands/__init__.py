"""What `python -m experiment` can do, a module for each command."""
