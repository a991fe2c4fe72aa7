"""Stores of the services in memory: what a call costs without its database."""
