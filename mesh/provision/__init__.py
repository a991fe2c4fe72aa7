"""Fetches and builds what a fresh machine lacks. Only the standard library: it runs before anything is installed."""
