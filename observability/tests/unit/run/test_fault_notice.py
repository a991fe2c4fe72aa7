"""A run that was disturbed on purpose says how; other runs say nothing, also those from before the switch."""

from __future__ import annotations

import pytest

from hops.run.fault_notice import fault_notice

OWN = "These figures are not the shop's own."
DELAY = {"delay_ms": {"payment": 2.0, "product": 0.5}}
NOTICES = {
    "nothing": ({"mesh": "none", "delay_ms": {}, "abort_share": {}}, ""),
    "without the switches": ({}, ""),
    "slowed components": (DELAY, f"DELAY INJECTED: 2 ms in payment, 0.5 ms in product, in every request. {OWN}"),
    "slowed by sidecars": (
        DELAY | {"mesh": "envoy"},
        f"DELAY INJECTED: 2 ms on the way to payment, 0.5 ms on the way to product, in every request. {OWN}",
    ),
    "failed calls": ({"mesh": "istio", "abort_share": {"payment": 0.01}},
                     f"FAILURES INJECTED: 1 % of the calls to payment. {OWN}"),
    "held": ({"hold": {"order": [20.0, 10]}}, f"EVENT LOOP HELD: 20 ms by 1 of 10 requests to order. {OWN}"),
    "both": ({"mesh": "istio", "delay_ms": {"user": 1.0}, "abort_share": {"payment": 0.005}},
             "DELAY INJECTED: 1 ms on the way to user, in every request. "
             f"FAILURES INJECTED: 0.5 % of the calls to payment. {OWN}"),
}  # fmt: skip


@pytest.mark.parametrize(("switches", "notice"), NOTICES.values(), ids=NOTICES)
def test_a_disturbed_run_says_how(switches, notice):
    assert fault_notice(switches) == notice
