"""Whether the instrument finds a known delay, and loses nothing when it is killed."""
