"""Every method on every route ends, and leaves the connection behind the edge to the next request."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import yaml

from mesh.description.topology import GATEWAYS, Protocol
from mesh.edge.kong import pattern
from mesh.edge.routes import Match, routes

pytestmark = pytest.mark.integration

SAFE = ("GET", "HEAD", "OPTIONS")
METHODS = (*SAFE, "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW")
STREAM = "text/event-stream"
QUERIES = {
    "/graphql": "{ __typename }",
    "/graphql/stream": 'subscription { notifications(userId: "VXNlcjox") { position } }',
}
TRANSCODED = yaml.safe_load((Path(__file__).parents[4] / "gateway" / "envoy" / "transcoding.yaml").read_text())


async def paths_of(shop: Any) -> dict[str, list[str]]:
    """What can be asked of each component behind the edge, by its documents; the first path is no stream."""
    topology, paths = shop.system.topology, {}
    async with httpx.AsyncClient(trust_env=False) as client:
        for component, protocol in topology.behind_edge.items():
            whole = [one for one in routes(topology) if one.component == component and one.match is not Match.REGEX]
            known = [route.path for route in whole]
            if protocol is Protocol.REST:
                port = shop.system.ports.url(component if component in GATEWAYS else f"{component}-rest")
                known += (await client.get(f"{port}/openapi.json")).json()["paths"]
            if protocol is Protocol.GRAPHQL:
                known = [f"{path}?query={quote(query)}" for path, query in QUERIES.items()]
            if topology.transcodes:
                rules = [rule for name, rule in TRANSCODED.items() if name.startswith(f"shop.{component}.")]
                known += [path for rule in rules for path in rule.values() if path.startswith("/")]
            paths[component] = [re.sub(r"\{[^}]*\}", "1", path) for path in known]
    return paths


async def answered(client: httpx.AsyncClient, method: str, path: str, token: str) -> tuple[int, str]:
    """The status and the media type of an answer; of a stream only the headers are awaited."""
    headers = {"authorization": token, "accept": f"{STREAM}, application/json"}
    async with client.stream(method, path, headers=headers) as answer:
        media_type = answer.headers.get("content-type", "").partition(";")[0]
        if media_type != STREAM or method == "HEAD":
            await answer.aread()
        return answer.status_code, media_type


@pytest.mark.parametrize("shop", ["rest", "hybrid", "rest@kong", "hybrid@kong"], indirect=True)
async def test_every_method_on_every_route_ends(shop: Any) -> None:
    paths = await paths_of(shop)
    # A partner may read everything, and this customer may change nothing.
    partner, customer = shop.token("partner", 1), shop.token("customer", 10**15)
    wrong, opened = {}, {method: set() for method in METHODS}
    async with shop.client(limits=httpx.Limits(max_connections=1)) as client:
        for known in paths.values():
            usual = await answered(client, "GET", known[0], partner)
            for path in known:
                for method in METHODS:
                    status, media_type = await answered(client, method, path, partner if method in SAFE else customer)
                    after = await answered(client, "GET", known[0], partner)
                    if status >= 500 or after != usual:
                        wrong[method, path] = status, after
                    if (status, media_type) == (200, STREAM):
                        opened[method].add(path.partition("?")[0])
    assert wrong == {}
    for route in routes(shop.system.topology):
        walked = {path.partition("?")[0] for path in paths[route.component]}
        assert any(re.match(pattern(route), path) for path in (opened["GET"] if route.streams else walked)), route
    assert opened["HEAD"] == opened["GET"] - set(QUERIES)
