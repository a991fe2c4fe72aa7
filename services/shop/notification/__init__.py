"""The notification service: tells customers what happens to their orders."""
