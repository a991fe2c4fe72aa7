"""A cache in front of a service's database: a Valkey server from which rows are read by their ids."""
