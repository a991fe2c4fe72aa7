"""The rows, documents and files of a run."""
