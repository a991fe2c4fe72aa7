"""The base of every REST API of the shop: FastAPI, with the shop's problems, caching, callers, traces and docs."""
