"""The edge as a process of this machine."""

from __future__ import annotations

from pathlib import Path

import yaml

from mesh.edge import envoy
from mesh.edge.plan import EdgePlan
from mesh.envoy_config import command
from mesh.paths import RunFolder
from mesh.processes import Component
from mesh.readiness import http_ok
from mesh.topology import EDGE

ACCESS_LOG = "edge.access.jsonl"
"""In the folder of the logs; a JSON object for each request, complete once the edge has stopped."""


def envoy_component(plan: EdgePlan, folder: RunFolder) -> Component:
    """What to run for the edge; writes its configuration into the run's folder.

    Raises:
        NotInstalledError: There is no Envoy program.
    """
    file = write_envoy(plan, folder)
    return Component(EDGE, argv=lambda: command(file), ready=http_ok(plan.admin.port, "/ready"))


def write_envoy(plan: EdgePlan, folder: RunFolder) -> Path:
    """Write the edge's configuration into the run's folder, and return its path."""
    file = folder.config / "envoy.yaml"
    file.write_text(yaml.safe_dump(envoy.render(plan), sort_keys=False))
    return file
