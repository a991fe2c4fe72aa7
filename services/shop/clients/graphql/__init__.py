"""The clients over GraphQL."""
