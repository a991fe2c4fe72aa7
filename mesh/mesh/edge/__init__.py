"""The proxy in front of a topology: its plan, and the configuration of each supported proxy."""
