"""What the gates of a mesh look at, asked of the sidecars while they run."""

from __future__ import annotations

from hops.gates.trial import Sidecars
from mesh.runtime import Runtime


def sidecars_of(system: Runtime) -> Sidecars | None:
    """Asks the sidecars of a running system; None without a mesh."""
    facts = system.sidecar_facts()
    if facts is None:
        return None
    return Sidecars(
        silent=facts.silent,
        refused=facts.refused,
        unencrypted=facts.unencrypted,
        encrypted=system.switches.encrypted,
    )
