"""The GraphQL gateway over services that answer at once, asked as its HTTP server asks it."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from graphql_gateway.app import build_app
from platform_bench.graphql.prepared_shop import USER, prepared_clients
from shop.platform.access.rules import Authenticator
from shop.platform.access.tokens import Principal, TokenSigner, TokenVerifier


class Gateway:
    """The whole ASGI application: all of a request's way but HTTP's parsing, and compression, which is not asked for.

    That is its origin and body, the document by its hash, the cost, the token, the deadline, the execution with its
    loaders and calls, and the answer's JSON and messages.
    """

    def __init__(self) -> None:
        key = Ed25519PrivateKey.generate()
        signer = TokenSigner(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        self._app = build_app(prepared_clients(), Authenticator(TokenVerifier(public)))
        self._token = f"Bearer {signer.sign(Principal('customer', USER))}".encode()

    async def answer(self, body: bytes) -> bytes:
        """Returns the body of the answer to a POST.

        Args:
            body: The request's body.
        """
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/graphql",
            "raw_path": b"/graphql",
            "query_string": b"",
            "headers": [
                (b"host", b"gateway"),
                (b"content-type", b"application/json"),
                (b"content-length", b"%d" % len(body)),
                (b"authorization", self._token),
                (b"x-envoy-expected-rq-timeout-ms", b"5000"),
                (b"x-request-id", b"f3b0c442-98fc-4c14-9afb-f4c8996fb924"),
            ],
        }
        sent: list[bytes] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message.get("body", b""))

        await self._app(scope, receive, send)
        return b"".join(sent)
