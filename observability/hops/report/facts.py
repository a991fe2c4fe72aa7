"""Facts about a run in words: its machine, its load and when it ran."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hops.conclusions.wording import join_names, loop_text, plural
from hops.elements import numbers
from hops.report.view import View
from hops.run.documents.summary import Summary
from hops.run.loads import lengths_text, rates_text
from hops.run.network import SWITCHES as NETWORK
from hops.run.network import network_text
from hops.run.switches import Switches, is_of_the_shop, switches_of, switches_text, value_text


def load_facts(view: View) -> list[tuple[str, str]]:
    """Describes how the load was sent."""
    manifest, summary = view.run.manifest, view.summary
    profile, arms = manifest["profile"], [switches_of(manifest, topology) for topology in view.topologies]
    switches = {key: value for key, value in arms[0].items() if all(arm.get(key) == value for arm in arms)}
    differing = [key for key in arms[0] if key not in switches and key not in NETWORK]
    network = network_fact(view)
    closed = summary["closed"]
    load = f"open loop, {rates_text(manifest)}" if closed is None else f"closed loop, {loop_text(closed)}"
    length = lengths_text(manifest) if view.kind.arms else numbers.seconds(profile["duration_s"])
    count = len(view.topologies)
    several = view.kind.arms.format(noun=view.compared) or view.compared.many
    blocks = plural(summary["blocks"], "block")
    of_the_shop = is_of_the_shop(manifest)
    traced = " or ".join(f"{100 * share:g}" for share in dict.fromkeys(float(arm.get("trace", 0)) for arm in arms))
    fresh = ", each trial with fresh processes and a fresh database" if of_the_shop else ""
    return [
        ("load", f"{load}, for {length} after {numbers.seconds(profile['warmup_s'])} of warm-up"),
        (
            "experiment",
            f"{blocks} of {count} {several} {view.kind.order.format(noun=view.compared)}{fresh}"
            if count > 1
            else f"{blocks} of one {view.compared.one}",
        ),
        ("workload", str(manifest["workload"])),
        *([("network", network)] if network else []),
        ("tracing", f"{traced} % of the journeys, chosen at random{_left_out(summary)}"),
        *([("switches", switches_text({k: v for k, v in switches.items() if k != "trace"}))] if of_the_shop else []),
        *(
            (f"switches of {topology}", ", ".join(f"{key} {value_text(arm, key)}" for key in differing))
            for topology, arm in zip(view.topologies, arms, strict=True)
            if differing
        ),
    ]


def _left_out(summary: Summary) -> str:
    """Counts the traces that targets recorded although the load generator did not request them."""
    counts = summary.get("traces_unrequested", {})
    counted = [f"{count:,} of {name}" for name, count in counts.items() if count]
    return f"; left out are traces without a request for one: {', '.join(counted)}" if counted else ""


def network_fact(view: View) -> str:
    """Describes the emulated network, by topology if networks differ; empty without a network."""
    return view.kind.network(view) if view.kind.network else of_each(view, network_text)


def http_fact(view: View) -> str:
    """Describes the clients' HTTP version, by topology if versions differ; empty if no client uses HTTP/3."""
    text = of_each(view, lambda switches: f"HTTP/{value_text(switches, 'http')}")
    return text if "HTTP/3" in text else ""


def of_each(view: View, text: Callable[[Switches], str]) -> str:
    """Describes switches of the topologies, by topology if they differ; empty without any text."""
    texts = {name: text(switches_of(view.run.manifest, name)) for name in view.topologies}
    if not any(texts.values()):
        return ""
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    alike: dict[str, list[str]] = {}
    for name, one in texts.items():
        alike.setdefault(one or "none", []).append(name)
    return "; ".join(f"{join_names(names)}: {one}" for one, names in alike.items())


def machine_facts(manifest: dict[str, Any]) -> list[tuple[str, str]]:
    """Describes the machine, the code, and when the run was made."""
    git = manifest["git"]
    dirty = ", with uncommitted changes" if git.get("dirty") else ""
    machine = _cluster_text(manifest["cluster"]) if "cluster" in manifest else _machine_text(manifest["machine"])
    return [
        ("machine", machine),
        ("code", f"{str(git.get('commit'))[:12]}{dirty}"),
        ("when", f"{when(manifest.get('began'))} to {when(manifest.get('ended'))}"),
    ]


def _machine_text(machine: Mapping[str, Any]) -> str:
    memory_gib = machine["memory_mb"] / 1024
    return f"{machine['cpu']}, {machine['cores']} cores, {memory_gib:.0f} GiB, {machine['kernel']}"


def _cluster_text(cluster: Mapping[str, Any]) -> str:
    """Describes a cluster; gives only its version if the user is not allowed to list its nodes."""
    text = f"Kubernetes {cluster['kubernetes']}"
    if "nodes" not in cluster:
        return text
    size = f"{cluster['cores']} cores, {cluster['memory_mb'] / 1024:.0f} GiB"
    nodes = f"{plural(cluster['nodes'], 'node')} with {size} in all"
    return f"{text}, {nodes}, Linux {cluster['kernel']}, {cluster['runtime']}"


def when(stamp: str | None) -> str:
    """Formats a time from the manifest for people, in UTC."""
    return "not yet" if not stamp else str(stamp)[:16].replace("T", " ") + " UTC"
