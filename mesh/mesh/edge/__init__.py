"""The proxy in front of a topology: what it must do, and how each supported proxy is configured to do it."""
