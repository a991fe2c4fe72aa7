"""Processes: started, watched, recorded and stopped, whatever they do."""
