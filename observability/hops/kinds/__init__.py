"""What sets each kind of experiment apart, a folder for each."""
