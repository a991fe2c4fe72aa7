"""Whether statistics and budgets are right, shown on data whose truth is known."""
