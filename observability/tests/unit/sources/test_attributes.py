"""The reader of each format keeps the attributes that distinguish callees and proxies."""

from __future__ import annotations

import json

import pytest

from hops.budget.any_system import budget_of_any, tree_of
from synthetic.formats import WRITERS, zipkin_trace

from .content import read

DRAWING = """
page index               SERVER 0..100000
|- page GET               CLIENT 10000..60000
|  `- page outbound         CLIENT 12000..58000 component=proxy upstream_cluster=outbound|9080||reviews.default.svc
|     `- reviews inbound      SERVER 20000..50000 component=proxy upstream_cluster=inbound|9080|| http.url=http://reviews/
|        `- reviews get        SERVER 22000..48000 http.url=http://reviews/
|- page dns.lookup         CLIENT 70000..72000 peer.ipv4=192.0.2.7
`- page POST               CLIENT 72000..90000 http.url=https://pay.example.com/v1/charge
"""


def budget_of(content):
    return budget_of_any(tree_of(read(content)[1]))


@pytest.mark.parametrize("kind", WRITERS)
def test_each_format_gives_the_same_budget(draw, kind):
    spans = draw(DRAWING)
    before, _, after, write = WRITERS[kind]
    budget = budget_of(before + write(spans) + after)
    assert dict(budget.parts) == dict(budget_of_any(tree_of(spans)).parts) == {
        "work:page": 32_000, "wire:page→page": 4_000, "wire:page→reviews": 16_000, "proxy:reviews": 4_000,
        "work:reviews": 26_000, "external:page→pay.example.com": 18_000,
    }  # fmt: skip
    assert budget.quality.complete


@pytest.mark.parametrize(
    ("remote", "peer"),
    [
        ({"serviceName": "pay"}, "pay"),
        ({"serviceName": "pay", "ipv4": "192.0.2.7", "port": 443}, "pay"),
        ({"ipv4": "192.0.2.7", "port": 443}, "192.0.2.7"),
        ({"ipv6": "2001:db8::7"}, "2001:db8::7"),
    ],
)
def test_zipkins_remote_endpoint_names_the_callee(draw, remote, peer):
    spans = draw("""
shop order     SERVER 0..100000
`- shop POST    CLIENT 10000..60000
""")
    _, call = trace = zipkin_trace(spans)
    call["remoteEndpoint"] = remote
    budget = budget_of(json.dumps(trace).encode())
    assert dict(budget.parts) == {"work:shop": 50_000, f"external:shop→{peer}": 50_000}
