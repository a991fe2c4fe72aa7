"""The contract as programs use it: the table of its calls, and the messages that they carry."""
