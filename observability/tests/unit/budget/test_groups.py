"""Every part of a budget belongs to one group."""

from __future__ import annotations

import pytest

from hops.budget.groups import GROUPS, group_of

EXPECTED = {
    "messaging:shop→mail": "messaging",
    "external:shop→api.example.com": "external calls",
    "network": "customer's network",
    "handshake": "handshakes",
    "wire:client→edge": "client wire",
    "wire:client→product": "client wire",
    "client:waiting": "client wire",
    "push": "client wire",
    "outbox:order": "internal calls",
    "proxy:edge": "edge",
    "hit:edge-cache": "cache",
    "proxy:edge-cache": "cache",
    "wire:client→edge-cache": "client wire",
    "wire:edge-cache→edge": "customer's network",
    "work:graphql-gateway": "gateways",
    "work:rest-gateway": "gateways",
    "wire:edge→rest-gateway": "internal calls",
    "wire:order→payment": "internal calls",
    "queue:order": "busy components",
    "work:order": "services",
    "db:order": "database",
    "pool:order": "database",
    "cache:product": "cache",
    "proxy:order-outbound": "sidecars",
    "proxy:edge-outbound": "sidecars",
    "proxy:product-canary-inbound": "sidecars",
    "wire:edge→edge-outbound": "internal calls",
    "wire:order-outbound→product-inbound": "internal calls",
    "work:product-canary": "services",
    "client": "generator",
    "start_lag": "generator",
    "unattributed": "unattributed",
    "proxy:something": "proxies",
    "another": "unattributed",
}


@pytest.mark.parametrize(("part", "group"), EXPECTED.items())
def test_a_part_has_its_group(part, group):
    assert group_of(part) == group


def test_every_group_has_a_part():
    assert set(EXPECTED.values()) == set(GROUPS)
