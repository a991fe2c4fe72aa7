"""The notice above the figures of a run that was disturbed on purpose: by slow components, or failed calls."""

from __future__ import annotations

from collections.abc import Mapping

from hops.run.switches import Switches


def aborts(switches: Switches) -> Mapping[str, float]:
    """Gives the share of calls to each component that sidecars fail on purpose; empty in runs without such a switch."""
    return switches.get("abort_share") or {}


def fault_notice(switches: Switches) -> str:
    """Names slowed components, by how much, and calls that failed on purpose; empty if nothing was disturbed."""
    delays: Mapping[str, float] = switches.get("delay_ms") or {}
    # In a mesh the caller's sidecar waits before it forwards the call.
    where = "in" if switches.get("mesh", "none") == "none" else "on the way to"
    sentences = []
    if delays:
        listed = ", ".join(f"{delay:g} ms {where} {component}" for component, delay in delays.items())
        sentences.append(f"DELAY INJECTED: {listed}, in every request.")
    if holds := switches.get("hold"):
        listed = ", ".join(f"{ms:g} ms by 1 of {every:,} requests to {name}" for name, (ms, every) in holds.items())
        sentences.append(f"EVENT LOOP HELD: {listed}.")
    if shares := aborts(switches):
        listed = ", ".join(f"{100 * share:g} % of the calls to {component}" for component, share in shares.items())
        sentences.append(f"FAILURES INJECTED: {listed}.")
    return " ".join([*sentences, "These figures are not the shop's own."]) if sentences else ""
