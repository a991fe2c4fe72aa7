"""Files that users write, and messages about mistakes in them."""
