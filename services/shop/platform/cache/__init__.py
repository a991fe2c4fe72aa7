"""A cache in front of a service's database: a Valkey server that returns rows by their ids."""
