"""The shop's database: its schemas and roles, and their migrations."""
