"""Generated from proto/ by `make stubs`; never edited by hand."""
