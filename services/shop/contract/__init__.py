"""The contract in the form that programs use: the table of its calls, and the messages of these calls."""
