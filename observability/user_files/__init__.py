"""Files that users write, and what is wrong with them, in words."""
