"""How a topology's customers and data come through faults."""
