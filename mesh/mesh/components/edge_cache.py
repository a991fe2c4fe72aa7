"""Varnish as a shared cache in front of the edge, the emulated network behind Varnish, and the process that makes spans
from Varnish's log."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from string import Template

from mesh.components.shop_processes import GATEWAY_RANK
from mesh.description.network import Line
from mesh.description.ports import Ports
from mesh.description.topology import EDGE, EDGE_CACHE
from mesh.errors import StartError
from mesh.paths import SHOPLOAD, RunFolder, varnish
from mesh.supervisor.processes import Component
from mesh.supervisor.readiness import accepts

LINK = "edge-cache-link"
SPANS = "edge-cache-spans"
NOTIFIES_EDGE_CACHE = "product"
"""The service whose changes invalidate answers in the cache."""
BOUND_S = 60
"""How long the cache keeps an answer that nothing invalidates, in seconds: as long as the catalogue's answers allow."""
BOUND_SETTING = "SHOP_EDGE_CACHE_BOUND_S"
VCL = Path(__file__).parent / "templates" / "edge_cache.vcl"
STORAGE = "malloc,64m"
STATISTICS_LIMIT_S = 10.0


def invalidation_socket(folder: RunFolder, *, emulated: bool) -> Path:
    """The Unix domain socket where the shop invalidates answers, behind the emulated network if there is one."""
    return folder.sockets / ("far-ban" if emulated else "ban")


def edge_cache_components(
    ports: Ports, folder: RunFolder, environ: Mapping[str, str], line: Line | None, settings: Mapping[str, str]
) -> list[Component]:
    """What to run for the cache; writes its configuration into the run's folder.

    Args:
        environ: `VARNISH_BIN` and `PATH` are read from it.
        line: The emulated network between cache and edge; None if there is none.
        settings: Settings of the cache; `SHOP_EDGE_CACHE_BOUND_S` is one.

    Raises:
        NotInstalledError: There is no Varnish.
    """
    program = varnish("varnishd", environ)
    backend = EDGE if line is None else LINK
    bound_s = settings.get(BOUND_SETTING, str(BOUND_S))
    config = folder.config / "edge_cache.vcl"
    config.write_text(Template(VCL.read_text()).substitute(port=ports[backend], bound_s=bound_s))
    place, ban = _workdir(folder), folder.sockets / "ban"
    command = [
        *(str(program), "-F", "-n", str(place), "-j", "none", "-T", "none", "-f", str(config), "-s", STORAGE),
        *("-a", f"clients={ports.address(EDGE_CACHE)},HTTP", "-a", f"shop={ban},HTTP,mode=600"),
        # Clients get answers as the origin encoded them, and may speak HTTP/2 without TLS.
        *("-p", "http_gzip_support=off", "-p", "feature=+http2"),
    ]
    cache = Component(EDGE_CACHE, argv=lambda: command, ready=accepts(ports[EDGE_CACHE]))
    ready = folder.sockets / SPANS
    follow = [
        *(sys.executable, "-m", "mesh.components.edge_cache_spans", "--log", str(varnish("varnishncsa", environ))),
        *("--workdir", str(place), "--otlp", ports.address("jaeger-otlp-http"), "--ready", str(ready)),
    ]
    # This process stops with the gateways, so that the trace store has every span before traces are read.
    spans = Component(
        SPANS, argv=lambda: follow, ready=ready.exists, after=frozenset({EDGE_CACHE}), stop_rank=GATEWAY_RANK
    )
    if line is None:
        return [cache, spans]
    far = invalidation_socket(folder, emulated=True)
    emulate = [
        *(str(SHOPLOAD), "link", "--rtt", f"{line.rtt_ms}ms"),
        *("--down", str(line.down_bits_per_s), "--up", str(line.up_bits_per_s)),
        *("--carry", f"{ports.address(LINK)}={ports.address(EDGE)}", "--carry", f"unix:{far}=unix:{ban}"),
    ]
    return [cache, spans, Component(LINK, argv=lambda: emulate, ready=accepts(ports[LINK]))]


def _workdir(folder: RunFolder) -> Path:
    # The folder is outside of the checkout, whose path may be longer than Varnish accepts.
    return folder.sockets / "varnish"


def edge_cache_counts(folder: RunFolder, environ: Mapping[str, str]) -> Mapping[str, int]:
    """The cache's counters since it started: `requests`, `hits`, `fetches`, and `bytes` to and from the edge.

    Raises:
        StartError: Varnish does not answer.
    """
    program = varnish("varnishstat", environ)
    asked = subprocess.run(  # noqa: S603 - Varnish's own program
        [program, "-n", _workdir(folder), "-1", "-j"],
        capture_output=True,
        text=True,
        timeout=STATISTICS_LIMIT_S,
        check=False,
    )
    if asked.returncode:
        raise StartError(f"{EDGE_CACHE}: varnishstat failed: {asked.stderr.strip()[:200]}")
    counters = {name: int(one["value"]) for name, one in json.loads(asked.stdout)["counters"].items()}
    edge = {name.rpartition(".")[2]: value for name, value in counters.items() if name.startswith("VBE.")}
    return {
        "requests": counters["MAIN.client_req"],
        "hits": counters["MAIN.cache_hit"],
        "fetches": edge["req"],
        "bytes": sum(edge[name] for name in edge if name.endswith(("_hdrbytes", "_bodybytes"))),
    }
