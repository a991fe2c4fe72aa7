"""Which addresses may be loaded: this machine's, and those whose owner says so."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection
from urllib.parse import SplitResult, urlsplit

from experiment.own_target.file import TargetFile

SCHEMES = {"http": ("http", "rest"), "https": ("https", "rest"), "grpc": ("http", "grpc"), "grpcs": ("https", "grpc")}
"""What the generator calls the scheme, and what it speaks there."""


def require_mine(file: TargetFile, mine: Collection[str]) -> None:
    """Checks that every endpoint is on this machine, or at a host that the user named as theirs.

    The generator looks at each connection that it opens once more, as names may come to mean other addresses.

    Raises:
        UsageError: One is not, or its address is none; names the line, the host and where that is.
    """
    for name, place in file.target.targets.items():
        for endpoint, url in place.endpoints.items():
            where = "targets", name, "endpoints", endpoint
            host = address_of(file, url, *where).hostname or ""
            if host in mine:
                continue
            try:
                found = {str(info[4][0]) for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
            except OSError as error:
                raise file.error(f"{host} has no address: {error.strerror}", *where) from error
            if elsewhere := sorted(one for one in found if not ipaddress.ip_address(one).is_loopback):
                raise file.error(
                    f"{host} is at {elsewhere[0]}, which is not this machine; if it is yours to load, give "
                    f"--target-is-mine {host}",
                    *where,
                )


def address_of(file: TargetFile, url: str, *where: object) -> SplitResult:
    """The parts of an endpoint's URL.

    Raises:
        UsageError: It is none.
    """
    parts = urlsplit(url)
    try:
        whole = bool(parts.hostname and parts.port)
    except ValueError:
        whole = False
    if parts.scheme not in SCHEMES or not whole or parts.path or parts.query or parts.username:
        raise file.error(f"{url} is not valid; give scheme://host:port, with one of {', '.join(SCHEMES)}", *where)
    return parts
