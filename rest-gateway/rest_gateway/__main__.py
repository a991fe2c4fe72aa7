"""`python -m rest_gateway` serves; `python -m rest_gateway openapi` prints the OpenAPI document."""

from __future__ import annotations

import asyncio
import os
import sys

from rest_gateway.app import build_app
from rest_gateway.bootstrap import serve
from shop.clients.protocol_by_address import connect
from shop.platform.access.rules import Authenticator
from shop.platform.access.streams import Streams
from shop.platform.incoming import Incoming
from shop.platform.process.lifecycle import launch, leave
from shop.platform.rest.openapi import as_text, document


def main(arguments: list[str]) -> int:
    if not arguments:
        return launch(serve, os.environ)
    if arguments == ["openapi"]:
        sys.stdout.write(asyncio.run(_openapi()))
        return 0
    print(f"error: unknown arguments {' '.join(arguments)!r}; valid: none to serve, or openapi", file=sys.stderr)
    return 2


async def _openapi() -> str:
    # Declaring the routes needs clients, but makes no calls.
    async with connect({}, "rest-gateway") as shop:
        return as_text(document(build_app(shop, Incoming(Authenticator(None)), streams=Streams())))


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
