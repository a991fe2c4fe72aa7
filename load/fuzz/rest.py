"""Valid and invalid REST requests that Schemathesis makes from OpenAPI documents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import schemathesis
from hypothesis import strategies as st
from schemathesis.core import NotSet
from schemathesis.generation import GenerationMode

from fuzz.inputs import PERSONAL, Input, draw_from
from fuzz.wire import h1_request


def rest_inputs(way: str, documents: Sequence[Mapping[str, Any]], tokens: Sequence[str], seed: str) -> Iterator[Input]:
    """Yields requests for every documented operation endlessly; tokens are additional values of `authorization`."""
    schemas = [schemathesis.openapi.from_dict(dict(document)) for document in documents]
    cases = st.one_of([schema.as_strategy(generation_mode=mode) for schema in schemas for mode in GenerationMode])
    for case, token in draw_from(st.tuples(cases, st.sampled_from([*tokens, None])), seed):
        yield Input(way, _request(case, token))


def _request(case: schemathesis.Case[Any], token: str | None) -> bytes:
    headers = {str(name): str(value) for name, value in (case.headers or {}).items()}
    if token is not None:
        headers = {name: value for name, value in headers.items() if name.lower() != "authorization"}
        headers["authorization"] = token
    if case.cookies:
        headers["cookie"] = "; ".join(f"{name}={value}" for name, value in case.cookies.items())
    body = b""
    if isinstance(case.body, bytes):
        body = case.body
    elif not isinstance(case.body, NotSet):
        body = json.dumps(_personal(case.body), default=str).encode()
    if case.media_type is not None:
        headers.setdefault("content-type", case.media_type)
    query = urlencode(case.query or {}, doseq=True, errors="surrogatepass")
    return h1_request(case.method, case.formatted_path + ("?" + query if query else ""), list(headers.items()), body)


def _personal(value: Any) -> Any:
    """Replaces some personal data in a body with the canary that no log may have."""
    if isinstance(value, list):
        return [_personal(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: PERSONAL[named]
        if (named := _camel(key)) in PERSONAL and isinstance(inner, str) and len(inner) % 2
        else _personal(inner)
        for key, inner in value.items()
    }


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
