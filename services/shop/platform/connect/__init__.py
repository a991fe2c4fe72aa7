"""Connect: the contract's calls over HTTP, as protobuf or JSON; calls that only read are also possible with GET."""
