"""Every part of a budget belongs to one group."""

from __future__ import annotations

import pytest

from hops.budget.groups import GROUPS, group_of

PARTS = {
    "messaging": ["messaging:shop→mail"],
    "external calls": ["external:shop→api.example.com"],
    "customer's network": ["network", "wire:edge-cache→edge"],
    "handshakes": ["handshake"],
    "client wire": ["wire:client→edge", "wire:client→product", "wire:client→edge-cache", "client:waiting", "push"],
    "internal calls": [
        "outbox:order", "wire:edge→rest-gateway", "wire:order→payment", "wire:edge→edge-outbound",
        "wire:order-outbound→product-inbound",
    ],
    "edge": ["proxy:edge"],
    "cache": ["hit:edge-cache", "proxy:edge-cache", "cache:product"],
    "gateways": ["work:graphql-gateway", "work:rest-gateway"],
    "busy components": ["queue:order"],
    "services": ["work:order", "work:product-canary"],
    "database": ["db:order", "pool:order"],
    "sidecars": ["proxy:order-outbound", "proxy:edge-outbound", "proxy:product-canary-inbound"],
    "generator": ["client", "start_lag"],
    "unattributed": ["unattributed", "another"],
    "proxies": ["proxy:something"],
}  # fmt: skip


@pytest.mark.parametrize(("group", "part"), [(group, part) for group, parts in PARTS.items() for part in parts])
def test_a_part_has_its_group(group, part):
    assert group_of(part) == group


def test_every_group_has_a_part():
    assert set(PARTS) == set(GROUPS)
