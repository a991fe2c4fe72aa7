"""The calls that both sides of a case serve, sent by the load generator in a closed loop."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from typing import Protocol

import grpc

from mesh.description.places import Place
from mesh.errors import StartError
from mesh.paths import ROOT
from shop.stubs import product_pb2, product_pb2_grpc

SHOPLOAD = ROOT / ".tools" / "bin" / "shopload"
UNDER_WAY = 8
"""Calls under way at a time, and connections to the server and to the database: no call waits for one."""
LIMIT_S = 120

PRODUCT_ID = 1


class Calls(Protocol):
    """The calls that a process serves."""

    def answer(self) -> object:
        """Sends one call; returns what both sides of a case must answer alike."""

    def send(self, count: int) -> None:
        """Sends so many calls, and returns after the last answer.

        Raises:
            StartError: One failed.
        """


class GetProduct:
    """Calls of `GetProduct` over gRPC.

    Args:
        place: Where the process listens.
    """

    def __init__(self, place: Place) -> None:
        self._place = place

    def answer(self) -> object:
        with grpc.insecure_channel(str(self._place)) as channel:
            stub = product_pb2_grpc.ProductServiceStub(channel)
            return stub.GetProduct(product_pb2.GetProductRequest(id=PRODUCT_ID))

    def send(self, count: int) -> None:
        _load(count, "--grpc", str(self._place))


class GetPath:
    """`GET` requests over HTTP/1.1 that are answered with JSON.

    Args:
        place: Where the process listens.
        path: Path to get.
    """

    def __init__(self, place: Place, path: str) -> None:
        self._place = place
        self._path = path

    def answer(self) -> object:
        with urllib.request.urlopen(f"{self._place.url}{self._path}", timeout=LIMIT_S) as response:  # noqa: S310 - http
            headers = {name.lower(): value for name, value in response.headers.items() if name.lower() != "date"}
            return json.load(response), headers

    def send(self, count: int) -> None:
        _load(count, "--url", self._place.url, "--http", "1", "--get", self._path)


def _load(count: int, *where: str) -> None:
    command = [str(SHOPLOAD), "max", *where, "--requests", str(count), "--duration", f"{LIMIT_S}s"]
    loop = ["--vus", str(UNDER_WAY), "--connections", str(UNDER_WAY)]
    done = subprocess.run([*command, *loop], capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    if done.returncode != 0:
        raise StartError(f"the load failed: {done.stderr.strip()}")
