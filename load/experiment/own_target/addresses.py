"""Checks that load goes only to addresses of this machine, and to hosts that the user has named as theirs."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Collection, Mapping
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit

from experiment.own_target.file import TargetFile

SCHEMES = {
    "http": ("http", "rest"),
    "https": ("https", "rest"),
    "http+unix": ("http", "rest"),
    "grpc": ("http", "grpc"),
    "grpcs": ("https", "grpc"),
    "grpc+unix": ("http", "grpc"),
}
"""For each scheme of a target file, the scheme in the load generator's file, and the protocol."""
MAX_SOCKET_BYTES = 107
"""Maximum length of a Unix socket's path on Linux, in bytes."""


def require_mine(file: TargetFile, mine: Collection[str]) -> None:
    """Checks that every endpoint is on this machine, or on a host that the user has named as theirs.

    The generator checks each connection again, because a name may resolve to another address by then.

    Raises:
        UsageError: An endpoint is on another host, or its address is invalid; the message names the line and the host.
    """
    mine = {host.lower() for host in mine}
    for name, place in file.target.targets.items():
        for endpoint, url in place.endpoints.items():
            where = "targets", name, "endpoints", endpoint
            parts = address_of(file, url, *where)
            host = parts.hostname or ""
            if host in mine or is_socket(parts):
                continue
            try:
                elsewhere = remote_addresses(host)
            except UnicodeError as error:
                raise file.error(f"{host} is not a valid name of a host", *where) from error
            except OSError as error:
                raise file.error(f"{host} has no address: {error.strerror}", *where) from error
            if elsewhere:
                raise file.error(
                    f"{host} is at {elsewhere[0]}, which is not this machine; if it is yours to load, give "
                    f"--target-is-mine {host}",
                    *where,
                )


def remote_addresses(host: str) -> list[str]:
    """Returns the addresses of a host that are on other machines.

    Raises:
        OSError: The host has no address.
        UnicodeError: It is not a valid name of a host.
    """
    addresses = {str(info[4][0]) for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    return sorted(one for one in addresses if not ipaddress.ip_address(one).is_loopback)


def is_local(parts: SplitResult) -> bool:
    """Returns whether an endpoint over TCP is on this machine, as far as its host can be resolved."""
    try:
        return not remote_addresses(parts.hostname or "")
    except (OSError, UnicodeError):
        return False


def address_of(file: TargetFile, url: str, *where: object) -> SplitResult:
    """Splits an endpoint's URL; raises UsageError if the text is not valid."""
    with suppress(ValueError):
        parts = urlsplit(url)
        if _is_valid(parts):
            return parts
    raise file.error(
        f"{url} is not valid; give http://host:port, with a base path if there is one, grpc://host:port, https or "
        "grpcs. For a Unix socket, give its absolute path: http+unix:/path or grpc+unix:/path",
        *where,
    )


def _is_valid(parts: SplitResult) -> bool:
    """Returns whether an endpoint is complete, without unusable parts; raises ValueError for a wrong port."""
    if parts.query or parts.fragment or parts.username or parts.scheme not in SCHEMES:
        return False
    if is_socket(parts):
        return parts.path.startswith("/") and not parts.netloc and len(os.fsencode(parts.path)) <= MAX_SOCKET_BYTES
    return bool(parts.hostname and parts.port) and (SCHEMES[parts.scheme][1] == "rest" or not parts.path)


def is_socket(parts: SplitResult) -> bool:
    """Returns whether an endpoint is a Unix socket."""
    return parts.scheme.endswith("+unix")


def entries_of(endpoints: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Returns endpoints in the form of the load generator's file, in which a Unix socket has a placeholder host."""
    entries = {}
    for number, (name, url) in enumerate(endpoints.items()):
        parts = urlsplit(url)
        scheme, speaks = SCHEMES[parts.scheme]
        place = (
            {"url": f"{scheme}://unix-{number}.localhost:80", "socket": parts.path}
            if is_socket(parts)
            else {"url": f"{scheme}://{parts.netloc}{parts.path.rstrip('/')}"}
        )
        entries[name] = {"protocol": speaks, **place}
    return entries
