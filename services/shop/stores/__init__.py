"""What PostgreSQL and Valkey say of themselves, for Prometheus: a process of its own beside them."""
