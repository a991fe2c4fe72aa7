"""The checks of every route before FastAPI binds and validates: the caller, the query, the media type of the body."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import parse_qsl

from fastapi.routing import APIRoute
from starlette.convertors import Convertor
from starlette.requests import Request
from starlette.responses import Response

from shop.contract.calls import Access
from shop.platform.access.rules import Authenticator
from shop.platform.rest.call import Call
from shop.platform.rest.errors import InvalidRequest, unsupported_media_type
from shop.platform.rest.operations import ACCESS_KEY
from shop.platform.rest.parameters import IDEMPOTENCY_KEY
from shop.platform.rest.problem_model import FieldError

MAX_QUERY_PARAMETERS = 20


class NameConvertor(Convertor[str]):
    """One segment of a path without a colon, so that `/v1/orders/1:cancel` is not an order named "1:cancel"."""

    regex = "[^/:]+"

    def convert(self, value: str) -> str:
        """Returns the segment as it is; the parameter's own type checks it."""
        return value

    def to_string(self, value: str) -> str:
        """Returns the segment of a value."""
        return str(value)


def route_class(authenticator: Authenticator) -> type[APIRoute]:
    """Returns the class of the routes of an API.

    The checks are here and not in dependencies, because FastAPI reads and decodes the body before it runs those,
    and a caller who is not admitted should learn nothing and cost nothing.
    """

    origin = authenticator.origin_header.encode()

    class ShopRoute(APIRoute):
        """A route that admits callers as its `x-access` says, and accepts documented query parameters and JSON only."""

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            """Returns the handler of a request."""
            handle = super().get_route_handler()
            access = Access((self.openapi_extra or {}).get(ACCESS_KEY, Access.EVERYBODY))
            known = [field.alias for field in self.dependant.query_params]
            takes_body = self.body_field is not None
            takes_key = any(field.alias == IDEMPOTENCY_KEY for field in self.dependant.header_params)

            async def answer(request: Request) -> Response:
                call = Call(request.scope, request.receive)
                authenticator.admit(access, call.header(b"authorization"), call.last_header(origin))
                raw: bytes = call.scope["query_string"]
                if raw:
                    _check_query(raw, known)
                if takes_key:
                    _check_key(call)
                if takes_body:
                    _check_media_type(call)
                return await handle(call)

            return answer

    return ShopRoute


def _check_query(raw: bytes, known: list[str]) -> None:
    """Refuses parameters that are unknown or given twice, which FastAPI would ignore.

    Raises:
        InvalidRequest: There is such a parameter.
    """
    try:
        pairs = parse_qsl(raw.decode("latin-1"), keep_blank_values=True, max_num_fields=MAX_QUERY_PARAMETERS)
    except ValueError:
        message = f"the query has too many parameters; at most {MAX_QUERY_PARAMETERS} are valid"
        raise InvalidRequest([FieldError("", message)]) from None
    errors = []
    seen: set[str] = set()
    for name, _ in pairs:
        if name not in known:
            valid = f"valid ones are {', '.join(known)}" if known else "there are none here"
            errors.append(FieldError(name[:40], f"this query parameter is unknown; {valid}"))
        elif name in seen:
            errors.append(FieldError(name, "this query parameter is given twice; give it once"))
        seen.add(name)
    if errors:
        raise InvalidRequest(errors)


def _check_key(call: Call) -> None:
    """Refuses several idempotency keys: whichever was taken, a repetition with another of them would buy again.

    Raises:
        InvalidRequest: There are several.
    """
    name = IDEMPOTENCY_KEY.lower().encode()
    if sum(header == name for header, _ in call.scope["headers"]) > 1:
        raise InvalidRequest([FieldError(IDEMPOTENCY_KEY, "this header is given twice; give it once")])


def _check_media_type(call: Call) -> None:
    media_type = (call.header(b"content-type") or "").partition(";")[0].strip().lower()
    application, _, kind = media_type.partition("/")
    if application != "application" or not (kind == "json" or kind.endswith("+json")):
        raise unsupported_media_type("the body must be JSON: send the header Content-Type: application/json")
    if (call.header(b"content-encoding") or "identity").strip().lower() != "identity":
        raise unsupported_media_type("the body must not be compressed; send it without Content-Encoding")
