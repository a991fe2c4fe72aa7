"""Connect: the contract's calls over HTTP, as protobuf or JSON; reads also by GET."""
