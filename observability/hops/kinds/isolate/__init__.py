"""How much faster other journeys are without one kind of journey."""
