"""Options for the switches, which commands have in common; None stands for the default."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mesh.description.switches import SWITCHES


def _option(name: str) -> Any:
    return typer.Option(f"--{name}", help=SWITCHES[name].help)


Abort = Annotated[str | None, _option("abort")]
Bandwidth = Annotated[str | None, _option("bandwidth")]
Canary = Annotated[str | None, _option("canary")]
Connections = Annotated[str | None, _option("connections")]
Delay = Annotated[str | None, _option("delay")]
Edge = Annotated[str | None, _option("edge")]
Http = Annotated[str | None, _option("http")]
Mesh = Annotated[str | None, _option("mesh")]
Mtls = Annotated[str | None, _option("mtls")]
LoadNodes = Annotated[str | None, _option("load_nodes")]
Network = Annotated[str | None, _option("network")]
Plugins = Annotated[str | None, _option("plugins")]
Replicas = Annotated[str | None, _option("replicas")]
Rtt = Annotated[str | None, _option("rtt")]
Runtime = Annotated[str | None, _option("runtime")]
Scale = Annotated[str | None, _option("scale")]
Store = Annotated[str | None, _option("store")]
Tls = Annotated[str | None, _option("tls")]
Trace = Annotated[str | None, _option("trace")]
Visit = Annotated[str | None, _option("visit")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
TopologyName = Annotated[str, typer.Option(help="Topology: a name in mesh/topologies/, or the path of a YAML file.")]
