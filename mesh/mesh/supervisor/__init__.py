"""Starts, watches, records and stops processes of any kind."""
