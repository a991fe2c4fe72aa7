"""The clients over Thrift."""
