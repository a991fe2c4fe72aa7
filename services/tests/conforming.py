"""The program under test in a conformance test: a component as a process, called by the same clients as ours.

`HOPWISE_CONFORMANCE` describes the program as JSON: component, command line, and the protocols that are tested.
The suites then run against that program instead of the service in this process.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from mesh.components.shop_processes import CONTRACT
from mesh.paths import RunFolder
from mesh.supervisor.processes import Component, Supervisor
from mesh.supervisor.readiness import accepts, grpc_serving, http_ok
from mesh.supervisor.signals import Interrupts

VARIABLE = "HOPWISE_CONFORMANCE"
REACHED_BY = {"order": "shop", "rest-gateway": "program", "graphql-gateway": "program"}
"""The fixtures through which tests reach components, if a fixture's name differs from its component's name."""
INSIDE = {"statements", "traces", "spans", "caplog", "monkeypatch", "backends", "tell"}
"""Fixtures of tests that look inside a component's process, which is impossible with another program. Also `tell`,
because version 1 of the contract has no updates."""


@dataclass(frozen=True)
class ProgramUnderTest:
    """A program under test: the component that it implements, its command line, and the protocols to test it over.

    `start_s` is how long it may take until it answers, and `stop_s` how long it may take to end, in seconds.
    """

    component: str
    command: tuple[str, ...]
    protocols: tuple[str, ...]
    start_s: float = Component.start_limit_s
    stop_s: float = Component.stop_limit_s

    def is_reached_by(self, item: pytest.Item) -> bool:
        """Whether a test checks the program from outside, and applies to every implementation."""
        fixtures = set(getattr(item, "fixturenames", ()))
        reaching = {REACHED_BY.get(self.component, self.component), "contracted"}
        return bool(fixtures & reaching) and not fixtures & INSIDE and item.get_closest_marker("ours") is None

    @contextmanager
    def started(self, protocol: str, env: Mapping[str, str], folder: Path) -> Iterator[str]:
        """The program as a process, from its first answer until the context ends; yields its address.

        Raises:
            StartError: The program ended, or did not answer in time; the error names component and command.
        """
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        checks = {"grpc": grpc_serving(port), "thrift": accepts(port)}
        address = f"127.0.0.1:{port}"
        component = Component(
            self.component,
            argv=lambda: self.command,
            env={
                "SHOP_COMPONENT": self.component,
                "SHOP_CONTRACT": CONTRACT,
                f"SHOP_LISTEN_{protocol.upper()}": address,
                **env,
            },
            ready=checks.get(protocol, http_ok(port, "/healthz")),
            command=shlex.join(self.command),
            start_limit_s=self.start_s,
        )
        supervisor = Supervisor(RunFolder.of(port, folder), Interrupts())
        try:
            supervisor.start([component])
            yield address
            for died in supervisor.find_dead():
                raise died
        finally:
            supervisor.stop()


def conforming(environ: Mapping[str, str] = os.environ) -> ProgramUnderTest | None:
    """Returns the program that the environment describes; None if our own services are tested in this process."""
    described = environ.get(VARIABLE)
    if not described:
        return None
    read = json.loads(described)
    return ProgramUnderTest(**{**read, "command": tuple(read["command"]), "protocols": tuple(read["protocols"])})


def words(pattern: str) -> str | None:
    """Returns a pattern for one of our messages; None for another program, whose messages the contract does not fix."""
    return pattern if conforming() is None else None


def says(message: str, expected: str) -> bool:
    """Whether one of our messages has the expected text; another program's message must only not be empty."""
    return expected in message if conforming() is None else message != ""
