"""The services' stores in memory: they show what a call costs without its database."""
