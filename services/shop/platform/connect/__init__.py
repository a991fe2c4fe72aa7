"""Connect: the contract's calls over HTTP, as protobuf or JSON; calls that only read also work with GET."""
