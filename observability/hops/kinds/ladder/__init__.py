"""What each component in front of, around and inside a topology adds."""
