"""Which network each channel had, read from a run's switches."""

from __future__ import annotations

from typing import Any

import pytest

from hops.errors import MalformedRunError
from hops.run.network import CHANNELS, NAMED, Network, in_words, network_summary, network_text, networks_of

NONE: dict[str, Any] = {"network": "loopback", "rtt_ms": None, "bandwidth": ""}


@pytest.mark.parametrize(
    ("given", "network", "words"),
    [
        ({"network": "4g"}, NAMED["4g"], "4g (70 ms, 12/12 Mbit/s)"),
        ({"network": "4g", "rtt_ms": 0.5}, Network(0.5, 12.0, 12.0), "0.5 ms, 12/12 Mbit/s"),
        ({"network": "3g", "bandwidth": "10mbit"}, Network(150.0, 10.0, 10.0), "150 ms, 10/10 Mbit/s"),
        ({"bandwidth": "1.6mbit/768kbit"}, Network(0.0, 1.6, 0.768), "0 ms, 1.6/0.768 Mbit/s"),
        ({"bandwidth": "1gbit/100mbit"}, Network(0.0, 1000.0, 100.0), "0 ms, 1000/100 Mbit/s"),
        ({"rtt_ms": 0.0}, Network(), "0 ms"),
    ],
)
def test_one_network_for_all_channels(given: dict[str, Any], network: Network, words: str) -> None:
    assert networks_of({**NONE, **given}) == dict.fromkeys(CHANNELS, network)
    assert in_words(network) == words


@pytest.mark.parametrize("given", [{"network": "6g"}, {"rtt_ms": "far"}, {"bandwidth": 5}, {"networks": 0.5}])
def test_files_that_no_run_writes_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(MalformedRunError, match=r"manifest\.json: not a valid network: "):
        networks_of({**NONE, **given})


def test_a_network_for_each_channel() -> None:
    switches = {
        **NONE,
        "tls": "on",
        "visit": "first",
        "networks": {"web": {**NONE, "network": "wifi"}, "mobile": {**NONE, "rtt_ms": 90.0}, "partner": NONE},
    }
    assert networks_of(switches) == {"web": NAMED["wifi"], "mobile": Network(90.0), "partner": NAMED["loopback"]}
    assert network_text(switches) == (
        "web wifi (2 ms, 30/15 Mbit/s), mobile 90 ms, partner loopback (0 ms), connections opened by each journey"
    )
    summary = network_summary(switches)
    assert summary["visit"] == "first"
    assert summary["channels"]["web"] == {"rtt_ms": 2.0, "down_mbit": 30.0, "up_mbit": 15.0, "name": "wifi"}


@pytest.mark.parametrize("switches", [NONE, {"rtt_ms": 0}, {}])
def test_runs_without_a_network(switches: dict[str, Any]) -> None:
    assert networks_of(switches) == {}
    assert network_summary(switches) is None
    assert network_text(switches) == ""
