"""A cache in front of a service's database: a Valkey server that rows are read from by their ids."""
