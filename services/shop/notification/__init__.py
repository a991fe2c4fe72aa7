"""The notification service: informs customers about changes of their orders."""
