"""How faults affect a topology's customers and data."""
