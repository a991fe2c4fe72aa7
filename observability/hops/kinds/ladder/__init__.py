"""What each thing in front of, around and inside a topology adds."""
