"""The file of a Unix domain socket that a server listens on: a stale file is replaced, a live one is not."""

from __future__ import annotations

import errno
import socket
from pathlib import Path
from urllib.parse import quote

from shop.platform.config import UNIX_SCHEME, StartError, socket_path


def bind_unix(path: str) -> socket.socket:
    """Returns a socket that is bound to a path, whose stale file it replaces; raises `StartError` if it cannot be."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if _is_stale(path):
            Path(path).unlink(missing_ok=True)
        listener.bind(path)
    except OSError as error:
        listener.close()
        raise StartError(
            f"cannot listen on unix:{path}: {error.strerror}; the folder must exist and be writable, no other "
            "process may listen there, and no file of another kind may be there"
        ) from error
    return listener


def unlink(listen: str) -> None:
    """Removes the socket file of an address, if the address has one; call this while the file's owner still listens.

    Once the owner has stopped listening, the file may already belong to the next process.
    """
    path = socket_path(listen)
    if path is not None:
        Path(path).unlink(missing_ok=True)


def grpc_target(path: str) -> str:
    """Returns the target for a socket, as gRPC's channels and servers take it: as a URI."""
    return f"{UNIX_SCHEME}{quote(path)}"


def _is_stale(path: str) -> bool:
    """Returns whether the path is a socket without a listener."""
    # A connection to a file of another kind is also refused.
    if not Path(path).is_socket():
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        # A listener's queue may be full, and a blocking caller would wait for it.
        caller.setblocking(False)
        return caller.connect_ex(path) == errno.ECONNREFUSED
