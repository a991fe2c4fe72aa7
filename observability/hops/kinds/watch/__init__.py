"""How late customers learn of changes to their orders, and what their waiting costs."""
