"""Reads the evidence for a mesh's gates from the running sidecars."""

from __future__ import annotations

from hops.gates.trial import Sidecars
from mesh.runtime import Runtime


def sidecars_of(system: Runtime) -> Sidecars | None:
    """Reads the counts of a running system's sidecars; None without a mesh."""
    facts = system.sidecar_facts()
    if facts is None:
        return None
    return Sidecars(
        silent=facts.silent,
        refused=facts.refused,
        unencrypted=facts.unencrypted,
        encrypted=system.switches.encrypted,
    )
