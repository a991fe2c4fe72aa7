"""The process of a service or gateway: how it starts, writes its logs and ends."""
