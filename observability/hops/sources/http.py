"""Answers of query APIs over HTTP, with limits on time and size, and errors that say what to do."""

from __future__ import annotations

import http.client
import tempfile
import time
import urllib.error
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from ipaddress import ip_address
from typing import IO, Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

import msgspec

from hops.errors import SourceError
from hops.sources.compressed import MAX_BYTES

Kind = TypeVar("Kind")
SILENCE_S = 10.0
ANSWER_S = 120.0
"""Maximum silence of an API, and maximum duration of one answer, seconds."""
_PIECE = 1 << 16
_REMEDIES = {
    401: "it requires credentials: --header 'Authorization: …'",
    403: "the credentials are not sufficient: --header 'Authorization: …'",
    404: "nothing is there: check the path, and that the trace still exists",
    429: "too many requests: try again later, or with a lower --limit",
}


class NotFoundError(SourceError):
    """The API does not have this address."""


def get(url: str, headers: Mapping[str, str], *, accept: str = "application/json") -> IO[bytes]:
    """Fetches one answer, as a file at its start.

    Raises:
        NotFoundError: The answer was 404.
        SourceError: No answer in time, or an error; the message names the address and, if known, a remedy.
    """
    deadline = time.monotonic() + ANSWER_S
    request = Request(url, headers={"Accept": accept})  # noqa: S310  the caller checks it
    for header in headers.items():
        request.add_unredirected_header(*header)
    with ExitStack() as closing:
        scratch = closing.enter_context(tempfile.TemporaryFile())
        _receive(request, scratch, deadline)
        closing.pop_all()
    scratch.seek(0)
    return scratch


class _Redirects(HTTPRedirectHandler):
    """Follows redirects; the user's headers, such as credentials, go only to the origin for which they were given."""

    def redirect_request(self, req: Request, *others: Any, **named: Any) -> Request | None:
        followed = super().redirect_request(req, *others, **named)
        if followed is not None and urlsplit(followed.full_url)[:2] == urlsplit(req.full_url)[:2]:
            for header in req.unredirected_hdrs.items():
                followed.add_unredirected_header(*header)
        return followed


def _opener(url: str) -> OpenerDirector:
    """Asks this machine directly, also if the environment names a proxy for other addresses."""
    host = urlsplit(url).hostname or ""
    is_here = host == "localhost"
    with suppress(ValueError):  # a name
        is_here = ip_address(host).is_loopback
    return build_opener(_Redirects, *[ProxyHandler({})] * is_here)


def _receive(request: Request, scratch: IO[bytes], deadline: float) -> None:
    url = request.full_url
    try:
        with _opener(url).open(request, timeout=SILENCE_S) as answer:
            while piece := answer.read1(_PIECE):
                scratch.write(piece)
                if time.monotonic() > deadline:
                    raise SourceError(f"{url}: the answer took longer than {ANSWER_S:.0f} s; give a lower --limit")
                if scratch.tell() > MAX_BYTES:
                    raise SourceError(f"{url}: the answer is larger than {MAX_BYTES / 2**30:.0f} GiB")
    except urllib.error.HTTPError as error:
        text = ""
        with error, suppress(OSError, http.client.HTTPException):  # the body may be cut
            text = " ".join(error.read(200).decode(errors="replace").split())
        remedy = f" ({_REMEDIES[error.code]})" if error.code in _REMEDIES else ""
        kind = NotFoundError if error.code == http.HTTPStatus.NOT_FOUND else SourceError
        raise kind(f"{error.url} answered {error.code}{remedy}: {text or 'no body'}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        raise SourceError(f"{url} did not answer (limit: {SILENCE_S:.0f} s of silence): {reason}") from error


def get_json(url: str, headers: Mapping[str, str], kind: type[Kind]) -> Kind:
    """Fetches and decodes one answer; raises `SourceError` as `get` does, or if it is not JSON of this type."""
    with get(url, headers) as answer:
        try:
            return msgspec.json.decode(answer.read(), type=kind)
        except (ValueError, RecursionError) as error:
            raise SourceError(f"{url} did not answer with the JSON of this API: {error}") from error
