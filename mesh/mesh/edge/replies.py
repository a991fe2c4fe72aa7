"""The edge's own answers to requests that it cannot forward."""

from __future__ import annotations

from dataclasses import replace

from mesh.description.replies import AWAY, LATE, Reply
from mesh.edge.limits import CHECKED

_TOO_LARGE = (*("RESOURCE_EXHAUSTED", "Request too large"), 8)
_INVALID = (*("INVALID_ARGUMENT", "Invalid argument"), 3)
_VERSION = "this version of HTTP is not spoken here; use HTTP/1.1 or HTTP/2"
INVALID = Reply(400, 499, *_INVALID, "the request is not valid HTTP")
"""The reply if no other reply matches; a transcoder gives more detail about a request that it refuses."""
NOWHERE = Reply(404, 404, "NOT_FOUND", "Not found", 12, "there is nothing at this path")
METHOD = Reply(405, 405, *_INVALID, "the method is not possible here; the header Allow lists the possible methods")
REPLIES = (
    NOWHERE,
    METHOD,
    Reply(408, 408, "DEADLINE_EXCEEDED", "Deadline exceeded", 4, "the request did not arrive in time; send it faster"),
    Reply(413, 413, *_TOO_LARGE, "the body is too large"),
    Reply(414, 414, *_TOO_LARGE, "the headers are too large", status=431),
    Reply(426, 426, *_INVALID, _VERSION),
    Reply(429, 429, "TOO_MANY_REQUESTS", "Too many requests", 8, "too many requests; send fewer", 1),
    Reply(431, 431, *_TOO_LARGE, "the headers are too large"),
    *(Reply(one.answer, one.answer, *_INVALID, one.refusal, status=400) for one in CHECKED if one.answer != 405),
    replace(INVALID, min_status=403, max_status=403, status=400),
    INVALID,
    replace(INVALID, min_status=501, max_status=501, status=400),
    AWAY,
    LATE,
    Reply(505, 505, *_INVALID, _VERSION, status=426),
    Reply(500, 599, "INTERNAL", "Internal error", 13, "internal error"),
)
"""The first row whose range contains the status wins. Where Envoy and Kong answer the same request with different
statuses, a row gives both the same status. Envoy refuses an upgrade with 403; both programs refuse a transfer
coding with 501; 414 and 505 come from nginx."""
