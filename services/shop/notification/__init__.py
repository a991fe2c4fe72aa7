"""The notification service: informs customers about changes to their orders."""
