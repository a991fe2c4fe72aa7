from __future__ import annotations

import pytest

from mesh.errors import SwitchError
from mesh.switches import Switches, parse_switches


def test_defaults() -> None:
    assert parse_switches() == Switches(
        edge="envoy", mesh="none", mtls="off", trace=0.2, scale=1, http=2, rtt_ms=0, connections=4
    )


def test_given() -> None:
    found = parse_switches(edge="none", trace="1", scale="3", http="1", rtt="0", connections="256")
    assert found == Switches(edge="none", trace=1.0, scale=3, http=1, connections=256)


def test_empty_stands_for_the_default() -> None:
    assert parse_switches(edge="", trace="", scale="", http="", rtt="", connections="") == Switches()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("edge", "nginx", "edge=nginx is unknown; valid: envoy, none"),
        ("edge", "kong", "edge=kong is not available in this version; valid: envoy, none"),
        ("mesh", "linkerd", "mesh=linkerd is unknown; valid: none"),
        ("mesh", "istio", "mesh=istio is not available in this version"),
        ("mtls", "on", "mtls=on is not available in this version; valid: off"),
        ("mtls", "yes", "mtls=yes is unknown; valid: off"),
        ("trace", "1.1", "trace=1.1: must be a number from 0 .* to 1"),
        ("trace", "-0.1", "from 0"),
        ("trace", "nan", "from 0"),
        ("trace", "some", "trace=some"),
        ("scale", "0", "scale=0: must be a whole number from 1 to 100"),
        ("scale", "1.5", "scale=1.5: must be a whole number"),
        ("http", "3", "http=3 is unknown; valid: 1, 2"),
        ("connections", "0", "connections=0: must be a whole number from 1 to 256"),
        ("connections", "257", "from 1 to 256"),
        ("connections", "-4", "from 1 to 256"),
        ("connections", "many", "connections=many"),
        ("rtt", "20", "rtt=20 is not available in this version; valid: 0"),
    ],
)
def test_bad_value_names_itself_and_the_choices(name: str, value: str, message: str) -> None:
    with pytest.raises(SwitchError, match=message):
        parse_switches(**{name: value})  # type: ignore[arg-type]


def test_no_edge_means_http_1() -> None:
    with pytest.raises(SwitchError, match="edge=none needs http=1"):
        parse_switches(edge="none", http="2")
