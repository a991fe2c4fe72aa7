"""Makes the REST API of a service, with the text for users that all services' APIs have."""

from __future__ import annotations

from fastapi import FastAPI

from shop.platform.incoming import Incoming
from shop.platform.rest.app import rest_api
from shop.resources.examples import PUBLISHED

ABOUT = """\
- **Money** is a whole number of the currency's minor unit, **times** are RFC 3339 in UTC, **ids** are numbers.
- **Pages**: give `next_page_token` as `page_token`, with the same filter, until it is empty.
- **Batches**: `ids=1,2,3` reads up to 1,000 things in one request.
- **Caching**: every GET has an `ETag`; send it as `If-None-Match` and get 304 if nothing has changed.
- **Errors** are problem details (RFC 9457) with a stable `code`, and say what to change.
- **Callers** that come through the edge are checked; other parts of the shop are trusted, and they alone may call
  what is marked `internal`.
"""


def service_api(name: str, summary: str, tags: dict[str, str], incoming: Incoming) -> FastAPI:
    """Returns a service's API without routes; add the routes, and after them the docs (`add_docs`)."""
    return rest_api(
        title=f"Hopwise {name}", summary=summary, description=ABOUT, tags=tags, incoming=incoming, published=PUBLISHED
    )
