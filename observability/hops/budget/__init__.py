"""How a trace's time is split into parts."""
