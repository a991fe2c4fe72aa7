"""Stores of the services in memory: they show what a call costs without its database."""
