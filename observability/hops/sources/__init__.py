"""Where traces come from: files, folders and query APIs, in the formats that tracing systems write."""
