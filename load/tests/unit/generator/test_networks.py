"""What generator and results mean by a network's name, and how they refuse what is none."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest

from experiment.generator.shopload import BINARY
from hops.run.network import NAMED
from mesh.description.network import NAMES
from mesh.description.switches import parse_switches
from mesh.errors import SwitchError

DOCS = Path(__file__).resolve().parents[4] / "docs" / "customer-network.md"
pytestmark = pytest.mark.skipif(not BINARY.is_file(), reason="the generator is not built: run `make setup`")


def test_everybody_means_the_same_network_by_a_name_and_the_documentation_has_its_source() -> None:
    rows = json.loads(_shopload("networks", "--json").stdout)
    assert {row["name"]: {key: row[key] for key in row if key != "source"} for row in rows} == {
        name: asdict(network) for name, network in NAMED.items()
    }
    assert tuple(row["name"] for row in rows) == NAMES
    text = DOCS.read_text(encoding="utf-8")
    for row in rows:
        rates = [f"{row[key]:,g}" if row[key] else "no limit" for key in ("down_mbit", "up_mbit")]
        assert f"| `{row['name']}` | {row['rtt_ms']:g} | {rates[0]} | {rates[1]} | {row['source']} |" in text


@pytest.mark.parametrize(
    ("name", "value"),
    [("rtt", "-1"), ("rtt", "2h"), ("rtt", "40"), ("rtt", "2001ms"), ("bandwidth", "0"), ("bandwidth", "1mbit/0mbit")],
)
def test_the_generator_refuses_a_network_in_the_same_words(name: str, value: str) -> None:
    refused = _shopload("replay", f"--{name}={value}")
    with pytest.raises(SwitchError) as error:
        parse_switches(**{name: value})
    assert refused.returncode == 2
    assert refused.stderr.strip() == f"shopload: {error.value}".removesuffix(".").replace(
        f"{name}={value}", f'{name} "{value}"'
    ).replace("second).", "second)")


def _shopload(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=30, check=False)
