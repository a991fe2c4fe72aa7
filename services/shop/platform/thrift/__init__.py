"""Thrift: one processor of a service's methods, behind framed TCP and behind HTTP, and the messages of both ends."""
