"""The contract in the form that programs use: the table of its calls, and their messages."""
