"""Thrift: one processor for a service's methods, over framed TCP and over HTTP, and the messages of both ends."""
