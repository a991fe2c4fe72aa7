"""`python -m mesh.edge.rendered` writes `gateway/`: both edges' configuration for `hybrid`, for people to try out."""

from __future__ import annotations

from pathlib import Path

from mesh.description.ports import load_ports
from mesh.description.topology import load_topology
from mesh.edge import envoy, kong
from mesh.edge.component import config_text
from mesh.edge.plan import STDOUT, EdgePlan
from mesh.paths import ROOT

TOPOLOGY = "hybrid"
FOLDER = ROOT / "gateway"
ENVOY = Path("envoy", "envoy.yaml")
KONG, KONG_SETTINGS = Path("kong", "kong.yaml"), Path("kong", "kong.conf")
HEADER = "# Made by `make gateway` from mesh/mesh/edge and the tables of topologies and ports; see gateway/README.md.\n"


def rendered_files() -> dict[Path, str]:
    """The files by their paths below `FOLDER`, as in a run on this machine at the default ports.

    There are two differences: the access log goes to standard output, and the edge's admin page is at a port.
    """
    plan = EdgePlan(load_topology(TOPOLOGY), load_ports({}), STDOUT)
    settings = {
        **kong.settings(plan),
        "KONG_DECLARATIVE_CONFIG": str((FOLDER / KONG).relative_to(ROOT)),
        "KONG_NGINX_DAEMON": "off",
    }
    lines = [f"{name.removeprefix('KONG_').lower()} = {value}\n" for name, value in settings.items()]
    return {
        ENVOY: HEADER + config_text(envoy.render(plan)),
        KONG: HEADER + config_text(kong.render(plan)),
        KONG_SETTINGS: HEADER + "".join(lines),
    }


def main() -> None:
    """Writes the files."""
    for path, text in rendered_files().items():
        (FOLDER / path).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / path).write_text(text)


if __name__ == "__main__":
    main()
