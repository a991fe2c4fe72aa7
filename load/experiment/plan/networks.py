"""The networks of a workload's channels, which say how far away its customers are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiment.errors import UsageError
from mesh.description.network import Network
from mesh.description.switches import parse_switches
from mesh.description.topology import Channel
from mesh.description.yaml_lines import YamlError, line_of, load_yaml, read_yaml
from mesh.errors import SwitchError

KEYS = ("network", "rtt", "bandwidth")
_EXAMPLE = "a name such as 4g, or a mapping such as {rtt: 40ms, bandwidth: 10mbit/2mbit}"


def channel_networks(workload: Path) -> Mapping[str, Network]:
    """Reads each channel's network from a workload file; empty if it says nothing of them.

    Of the rest of the file, the load generator judges.

    Raises:
        UsageError: A channel or a network is unknown, or a channel of the mix has none; names the line.
    """
    try:
        text = read_yaml(workload)
        document = load_yaml(text, str(workload))
    except YamlError as error:
        raise UsageError(str(error)) from error
    if not isinstance(document, dict) or document.get("networks") is None:
        return {}

    def problem(text_of_it: str, *path: str) -> UsageError:
        return UsageError(f"{workload}:{line_of(text, ('networks', *path))}: {text_of_it}")

    given = document["networks"]
    if not isinstance(given, dict):
        raise problem(f"networks must give each channel {_EXAMPLE}")
    networks = {}
    for channel, one in given.items():
        if channel not in list(Channel):
            raise problem(f"unknown channel {channel!r}; channels: {', '.join(Channel)}", str(channel))
        try:
            networks[str(channel)] = _network(one)
        except SwitchError as error:
            raise problem(f"networks.{channel}: {error}".removesuffix("."), channel) from error
    senders = {entry.get("channel") for entry in document.get("mix") or [] if isinstance(entry, dict)}
    if lacking := [channel for channel in Channel if channel in senders and channel not in networks]:
        raise problem(f"networks lacks {', '.join(lacking)}, which the mix has; give it {_EXAMPLE}")
    return networks


def refuse_networks(workload: Path, command: str) -> None:
    """Checks that a workload says nothing of networks, for a command whose customers are always near.

    Raises:
        UsageError: It does.
    """
    if channel_networks(workload):
        raise UsageError(
            f"workload={workload.stem} gives its customers networks, which make {command} does not emulate; give a "
            "workload without networks, such as default"
        )


def _network(given: Any) -> Network:
    """Reads a name, or a mapping with the values of switches of the same names."""
    values = {"network": given} if isinstance(given, str) else given
    if not isinstance(values, dict) or not values or set(values) - set(KEYS):
        raise SwitchError(f"{given} is no network; give {_EXAMPLE}.")
    return parse_switches(**values).customers_network
