"""What a comparison shows, in sentences."""
