"""What other journeys gain if one kind of journey is taken away from beside them."""
