"""The shop's own programs, each with one fault, for `make prove-conformance`.

A fault replaces a public member of the shop or of a library that the shop calls. This package is not part of the shop.
"""
