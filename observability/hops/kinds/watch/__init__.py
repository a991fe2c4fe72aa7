"""How late customers learn of changes of their orders, and what their waiting costs."""
