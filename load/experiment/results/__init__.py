"""The folders of results."""
