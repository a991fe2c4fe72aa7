"""The edge as a process on this machine."""

from __future__ import annotations

import grp
import os
import pwd
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from mesh.description.topology import EDGE
from mesh.edge import envoy, kong, limits
from mesh.edge.plan import EdgePlan
from mesh.envoy_config import ALONE, command
from mesh.paths import RunFolder
from mesh.paths import kong as kong_program
from mesh.supervisor.processes import Component
from mesh.supervisor.readiness import http_ok

ACCESS_LOG = "edge.access.jsonl"
"""File in the logs' folder: a JSON object for each request, complete once the edge has stopped."""

HANDING_OVER = (
    *("--drain-strategy", "immediate", "--drain-time-s", "1"),
    *("--parent-shutdown-time-s", str(limits.LEAVES_S)),
)
"""Until the old edge ends, each of its answers asks the client to close the connection."""


def edge_component(program: str, plan: EdgePlan, folder: RunFolder, environ: Mapping[str, str]) -> Component:
    """What to run for the edge, `envoy` or `kong`; writes its configuration into the run's folder.

    Raises:
        NotInstalledError: There is no such program.
        SwitchError: Kong cannot be this topology's edge.
    """
    if program == "kong":
        return kong_component(plan, folder, environ)
    admin = folder.admin_socket(EDGE)
    file = write_config(folder.config / "envoy.yaml", envoy.render(plan, admin))
    ready = http_ok(admin, "/ready")
    if not sys.platform.startswith("linux"):  # Envoy's hot restart exists on Linux only
        return Component(EDGE, argv=lambda: command(file, ALONE), ready=ready)
    # The socket is in a private folder, because any process that can reach it gets the edge's listeners.
    place = ("--base-id", str(folder.envoy_id), "--socket-path", str(folder.sockets / "envoy"))
    epoch = 0

    def argv(of: int) -> Sequence[str]:
        nonlocal epoch
        epoch = of
        return command(file, *place, *HANDING_OVER, "--restart-epoch", str(epoch))

    # The first Envoy takes over from no other; each further Envoy takes over from the current one.
    return Component(EDGE, argv=lambda: argv(0), ready=ready, successor=lambda: argv(epoch + 1))


def kong_component(plan: EdgePlan, folder: RunFolder, environ: Mapping[str, str]) -> Component:
    """Kong as the edge; errors as of `edge_component`."""
    program = kong_program(environ)
    file = write_config(folder.config / "kong.yaml", kong.render(plan))
    # Kong listens on internal sockets in its prefix, so the prefix must not be below a checkout, whose path may be too
    # long.
    prefix = folder.sockets / "kong"
    own = {
        "KONG_DECLARATIVE_CONFIG": str(file),
        "KONG_NGINX_DAEMON": "off",
        # Kong's status page can only be at a port, where any user of the machine could read it.
        "KONG_STATUS_LISTEN": str(plan.metrics_place or "off"),
    }
    if os.geteuid() == 0:
        # Otherwise root's nginx runs its worker as a user who may enter neither a private checkout nor the folder of
        # sockets.
        own["KONG_NGINX_MAIN_USER"] = f"{pwd.getpwuid(0).pw_name} {grp.getgrgid(0).gr_name}"
    trusted = None if plan.certificate is None else plan.certificate.trusted
    return Component(
        EDGE,
        argv=lambda: [str(kong.LUA / "start.sh"), str(program), str(prefix)],
        env={**kong.settings(plan), **own},
        # A route in the configuration answers this request.
        ready=http_ok(plan.listen.port, limits.HEALTH_PATH, trusted=trusted),
        # If nginx's master is killed, it leaves its worker behind.
        death_signal=signal.SIGTERM,
        renew_signal=signal.SIGHUP,
    )


def write_config(file: Path, config: Mapping[str, Any]) -> Path:
    """Writes an edge's configuration; returns the file."""
    file.write_text(config_text(config))
    return file


def config_text(config: Mapping[str, Any]) -> str:
    """An edge's configuration as YAML, with multi-line texts as literal blocks."""
    text: str = yaml.dump(config, Dumper=_Dumper, sort_keys=False)
    return text


class _Dumper(yaml.CSafeDumper):
    """Writes multi-line texts as literal blocks."""


def _text(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text.rstrip("\n") else None)


_Dumper.add_representer(str, _text)
