"""The report's sections, a module each."""
