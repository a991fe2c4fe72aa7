"""Our own programs with one fault each, for `make prove-conformance`.

A fault replaces a public member of the shop or of a library that the shop calls. Nothing here belongs to the shop.
"""
