"""The value types that services and their clients share: what the contract carries, whatever the protocol."""
