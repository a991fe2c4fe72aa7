"""The networks of a workload's channels: how far away its customers are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiment.errors import UsageError
from mesh.description.network import Network
from mesh.description.switches import parse_switches
from mesh.description.topology import Channel
from mesh.errors import SwitchError
from user_files.words import describe, valid
from user_files.yaml_file import YamlFile

KEYS = ("network", "rtt", "bandwidth")
_EXAMPLE = "a name such as 4g, or a mapping such as {rtt: 40ms, bandwidth: 10mbit/2mbit}"


def channel_networks(workload: Path) -> Mapping[str, Network]:
    """Reads each channel's network from a workload file; the mapping is empty if the file gives no networks.

    Raises:
        UsageError: A channel or a network is unknown, or the channel of a journey lacks a network. The message
            names the line.
    """
    file = YamlFile.read(workload, UsageError)
    document = file.data
    if not isinstance(document, dict) or document.get("networks") is None:
        return {}

    given = document["networks"]
    if not isinstance(given, dict):
        raise file.wrong(f"must give each channel {_EXAMPLE}, not {describe(given)}", "networks")
    networks = {}
    for channel, one in given.items():
        if channel not in list(Channel):
            raise file.wrong(f"{describe(channel)} is unknown; {valid(channel, Channel)}", "networks", channel)
        try:
            networks[str(channel)] = _network(one)
        except SwitchError as error:
            raise file.wrong(str(error).removesuffix("."), "networks", channel) from error
    senders = {entry.get("channel") for entry in document.get("mix") or [] if isinstance(entry, dict)}
    if isinstance(journeys := document.get("journeys"), dict):  # of a target file, which has no mix
        sent = [one for one in journeys.values() if isinstance(one, dict) and one.get("weight", 1)]
        senders |= {one.get("channel", Channel.WEB) for one in sent}
    if lacking := [channel for channel in Channel if channel in senders and channel not in networks]:
        raise file.wrong(f"lacks {', '.join(lacking)}, which journeys use; give each channel {_EXAMPLE}", "networks")
    return networks


def refuse_networks(workload: Path, command: str) -> None:
    """Raises UsageError if a workload has networks, because the command does not emulate them."""
    if channel_networks(workload):
        raise UsageError(
            f"workload={workload.stem} assigns networks to its customers, which `make {command}` does not emulate; "
            "give a workload without networks, such as default"
        )


def _network(given: Any) -> Network:
    """Reads a network, given as a name or as a mapping from switches to values."""
    values = {"network": given} if isinstance(given, str) else given
    if not isinstance(values, dict) or not values or set(values) - set(KEYS):
        raise SwitchError(f"{given} is not a network; give {_EXAMPLE}.")
    return parse_switches(**values).customers_network
