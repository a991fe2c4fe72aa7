"""Sources of traces: files, folders and query APIs, in the formats that tracing systems write."""

LIMIT = 200
"""Default maximum number of traces requested from a query API."""
