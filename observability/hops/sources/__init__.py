"""Where traces come from: files, folders and query APIs, in the formats that tracing systems write."""

LIMIT = 200
"""Most traces that a query API is asked for, unless the user says how many."""
