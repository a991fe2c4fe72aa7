"""Who calls, by token or certificate, and what each caller may do."""
