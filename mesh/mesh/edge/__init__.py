"""The proxy in front of a topology: what it must do, and how each of the programs that can be it is told so."""
