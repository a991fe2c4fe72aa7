"""Who calls, by token or certificate, and what they may do."""
