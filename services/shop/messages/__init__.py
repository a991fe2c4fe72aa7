"""Messages of the contract as value types, and back, for servers and clients alike."""
