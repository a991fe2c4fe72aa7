"""Our own programs with one fault each, by which `make prove-conformance` shows what conformance notices.

A fault replaces a public member of the shop or of a library that the shop calls. Nothing here is part of the shop.
"""
