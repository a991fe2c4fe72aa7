"""Connect: the calls of the contract over HTTP, reads by GET too, as protobuf or JSON."""
