"""The shop's own programs, each with one fault, for `make prove-conformance`.

A fault replaces a public member of the shop or of a library that the shop calls. Nothing here belongs to the shop.
"""
