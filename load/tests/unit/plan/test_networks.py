from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from experiment.arguments import WORKLOADS
from experiment.cli import app
from experiment.commands import in_blocks
from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import Plan, arms_of, plan_of
from experiment.plan.axis import compared_arms
from experiment.plan.networks import channel_networks, refuse_networks
from experiment.plan.profiles import profile_named
from mesh.description.network import Network
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology

DISTANT = WORKLOADS / "distant.yaml"
NETWORKS = {"web": Network("wifi"), "mobile": Network("4g"), "partner": Network("lan")}
HYBRID = load_topology("hybrid")
MIX = "mix:\n  - {journey: browse, channel: web, weight: 1}\n  - {journey: login, channel: mobile, weight: 1}\n"


def file_of(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "w.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_shipped_workloads_have_valid_networks() -> None:
    assert channel_networks(DISTANT) == NETWORKS
    others = [file for file in WORKLOADS.glob("*.yaml") if file != DISTANT]
    assert others
    assert all(channel_networks(file) == {} for file in others)


def test_a_network_by_its_values(tmp_path: Path) -> None:
    text = "networks:\n  web: {network: 4g, rtt: 500us}\n  mobile: {bandwidth: 1mbit/512kbit}\n" + MIX
    networks = {"web": Network("4g", 0.5), "mobile": Network(bandwidth="1mbit/512kbit")}
    assert channel_networks(file_of(tmp_path, text)) == networks


@pytest.mark.parametrize(
    ("networks", "message"),
    [
        ("networks: 4g\n", ":1: networks: must give each channel a name such as 4g, or a mapping"),
        ("networks:\n  fax: 4g\n", ":2: networks.fax: 'fax' is unknown; valid: web, mobile, partner"),
        ("networks:\n  web: 6g\n", ":2: networks.web: network=6g is unknown; valid: loopback, lan, wifi, 5g, 4g, 3g"),
        ("networks:\n  web: 4g\n  mobile: {rtt: 2h}\n", ":3: networks.mobile: rtt=2h is not a round-trip time from"),
        ("networks:\n  web: {rtt: 40}\n", ":2: networks.web: rtt=40 is not a round-trip time"),
        ("networks:\n  web: {bandwidth: 0}\n", ":2: networks.web: bandwidth=0 is not of the form DOWN/UP"),
        ("networks:\n  web: {visit: first}\n", ":2: networks.web: {'visit': 'first'} is not a network; give a name"),
        ("networks:\n  web: {}\n", ":2: networks.web: {} is not a network"),
        ("networks:\n  web: 40\n", ":2: networks.web: 40 is not a network"),
        ("networks:\n  web: 4g\n", ":1: networks: lacks mobile, which journeys use"),
        ("networks:\n  web: 4g\n  web: 3g\n", ":3: not valid YAML: the key 'web' appears twice"),
        ("networks: [\n", ":"),
    ],
)
def test_bad_networks_name_the_line_and_the_choices(tmp_path: Path, networks: str, message: str) -> None:
    file = file_of(tmp_path, networks + MIX)
    with pytest.raises(UsageError) as refused:
        channel_networks(file)
    assert str(refused.value).startswith(f"{file}{message}")


def test_commands_without_a_network_refuse_the_workload() -> None:
    with pytest.raises(UsageError, match="workload=distant assigns networks to its customers, which `make sweep`"):
        refuse_networks(DISTANT, "sweep")
    refuse_networks(WORKLOADS / "default.yaml", "sweep")


@pytest.mark.parametrize("command", ["capacity", "chaos", "isolate", "ladder", "soak"])
def test_a_command_without_a_network_begins_nothing(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_blocks, "begin", None)
    done = CliRunner().invoke(app, [command, "--workload", "distant"])
    assert f"customers, which `make {command}` does not emulate" in done.stderr
    assert done.exit_code == 2


def test_every_arm_has_the_workload_s_networks_and_resuming_keeps_them() -> None:
    arms = (
        *arms_of([HYBRID], parse_switches(NETWORKS)),
        *compared_arms([HYBRID], {"edges": "envoy,kong"}, {}, NETWORKS),
    )
    assert [arm.switches.networks for arm in arms] == [NETWORKS] * 3
    plan = Plan("compare", "compare", arms, 1, profile_named("smoke"), 1, DISTANT)
    assert plan_of(plan.as_document()) == plan
    with pytest.raises(UsageError, match=r"arm hybrid-no-edge: the workload's networks with edge=none: .* or tls=off"):
        compared_arms([HYBRID], {"edges": "envoy,none"}, {}, NETWORKS)
