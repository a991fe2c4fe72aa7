"""What every REST API of the shop stands on: FastAPI, with the shop's problems, caching, callers, traces and docs."""
