"""The program whose conformance is tested: a component as a process, which clients call as they call ours.

`HOPWISE_CONFORMANCE` names it, as JSON: its component, its command line, and the protocols that it is tested over. The
suites then run against that program in place of the service in this process.
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

from mesh.components.shop_processes import CONTRACT
from mesh.paths import RunFolder
from mesh.supervisor.processes import Component, Supervisor
from mesh.supervisor.readiness import grpc_serving, http_ok, tcp
from mesh.supervisor.signals import Interrupts

VARIABLE = "HOPWISE_CONFORMANCE"


@dataclass(frozen=True)
class Conforming:
    """A program that is to conform.

    Attributes:
        component: The component that it is.
        command: Its command line.
        protocols: The protocols that it is tested over.
    """

    component: str
    command: tuple[str, ...]
    protocols: tuple[str, ...]

    @contextmanager
    def started(self, protocol: str, env: Mapping[str, str], folder: Path) -> Iterator[str]:
        """The program as a process, from when it answers until the context ends.

        Args:
            protocol: Serves this protocol.
            env: Its settings, beside where it listens.
            folder: Folder of its log.

        Yields:
            The address that it listens on.

        Raises:
            StartError: It ended, or did not answer in time; names component and command.
        """
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        checks = {"grpc": grpc_serving(port), "thrift": tcp(port)}
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
        )
        supervisor = Supervisor(RunFolder.of(port, folder), Interrupts())
        try:
            supervisor.start([component])
            yield address
        finally:
            supervisor.stop()


def conforming(environ: Mapping[str, str] = os.environ) -> Conforming | None:
    """The program that the environment names; None if the project's own services are tested in this process."""
    told = environ.get(VARIABLE)
    if not told:
        return None
    read = json.loads(told)
    return Conforming(read["component"], tuple(read["command"]), tuple(read["protocols"]))
