"""Fetches and builds what a fresh machine lacks, with the standard library only: nothing else is installed yet."""
