"""What `hopwise` can do with traces and runs."""
