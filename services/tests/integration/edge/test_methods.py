"""Every method on every route gets an answer that ends and that has a caching policy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import yaml

from mesh.description.topology import GATEWAYS, Protocol
from mesh.edge.routes import Match, Route, routes

SAFE = ("GET", "HEAD", "OPTIONS")
METHODS = (*SAFE, "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW")
POLICIES = (
    *("public, max-age=60", "public, max-age=300", "private, no-cache", "private, no-store"),
    *("no-store", "no-store, no-transform"),
)
STREAM = "text/event-stream"
QUERIES = {
    "/graphql": "{ __typename }",
    "/graphql/stream": 'subscription { notifications(userId: "VXNlcjox") { position } }',
}
TRANSCODED = yaml.safe_load((Path(__file__).parents[4] / "gateway" / "envoy" / "transcoding.yaml").read_text())


async def paths_of(shop: Any) -> dict[str, list[str]]:
    """Returns the paths of each component behind the edge, from its documents; the first path is not a stream."""
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


async def ask(client: httpx.AsyncClient, method: str, path: str, token: str = "") -> httpx.Response:
    """Sends a request; returns its answer, or only the answer's headers if it is a stream."""
    headers = {"accept": f"{STREAM}, application/json", **({"authorization": token} if token else {})}
    async with client.stream(method, path, headers=headers) as answer:
        if method == "HEAD" or not is_stream(answer):
            await answer.aread()
        return answer


def is_stream(answer: httpx.Response) -> bool:
    """Whether an answer is an open stream of events."""
    return answer.status_code == 200 and answer.headers["content-type"].startswith(STREAM)


async def misled_cache(client: httpx.AsyncClient, path: str, answer: httpx.Response) -> str:
    """Describes how an answer to a partner misleads caches; empty if it does not."""
    policy, vary = answer.headers.get("cache-control"), answer.headers.get_list("vary")
    if policy not in POLICIES or len(vary) > 1:
        return f"Cache-Control is {policy}, Vary {vary}"
    if "private" in policy and "authorization" not in "".join(vary).lower():
        return f"{policy} does not vary with Authorization"
    if "public" in policy and (await ask(client, "GET", path)).content != answer.content:
        return f"{policy}, but others get another answer"
    return ""


@pytest.mark.parametrize("shop", ["rest", "hybrid", "hybrid-transcoded", "rest@kong", "hybrid@kong"], indirect=True)
async def test_every_method_on_every_route_ends(shop: Any) -> None:
    paths, table = await paths_of(shop), routes(shop.system.topology)
    # A partner may read everything, and this customer may change nothing.
    partner, customer = shop.token("partner", 1), shop.token("customer", 10**15)
    wrong: dict[tuple[str, str], str] = {}
    opened: dict[str, set[str]] = {method: set() for method in METHODS}
    possible: dict[Route, set[str]] = {route: set() for route in table}
    allowed: dict[Route, set[str]] = {}
    async with shop.client(limits=httpx.Limits(max_connections=1)) as client:
        for known in paths.values():
            usual = await ask(client, "GET", known[0], partner)
            for path in known:
                whole = path.partition("?")[0]
                route = next((route for route in table if re.fullmatch(route.pattern, whole)), None)
                for method in METHODS:
                    answer = await ask(client, method, path, partner if method in SAFE else customer)
                    after = await ask(client, "GET", known[0], partner)
                    if answer.status_code >= 500 or (after.status_code, after.content) != (
                        usual.status_code,
                        usual.content,
                    ):
                        wrong[method, path] = f"{answer}, then {after}"
                    elif fault := await misled_cache(client, path, answer) if method == "GET" else "":
                        wrong[method, path] = fault
                    if is_stream(answer):
                        opened[method].add(whole)
                    if route is not None and method == "BREW":
                        assert answer.status_code == 405, route
                        allowed[route] = set(answer.headers["allow"].split(", "))
                    elif route is not None and answer.status_code not in (404, 405):
                        possible[route].add(method)
    assert wrong == {}
    assert allowed == possible
    assert opened["HEAD"] == opened["GET"] - set(QUERIES)
    assert all(any(re.fullmatch(one.pattern, path) for path in opened["GET"]) for one in table if one.streams)
