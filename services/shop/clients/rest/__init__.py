"""The clients over REST."""
