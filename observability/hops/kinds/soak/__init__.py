"""Whether anything grows while a topology is under load for a long time."""
