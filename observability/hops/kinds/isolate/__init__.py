"""How much faster other journeys get without one kind of journey."""
