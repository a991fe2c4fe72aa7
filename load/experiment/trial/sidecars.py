"""What the gates of a mesh look at, asked of the sidecars while they run."""

from __future__ import annotations

from hops.analysis.cost import SIDECAR_SUFFIX
from hops.gates.trial import Sidecars
from mesh.system import System


def sidecars_of(system: System) -> Sidecars | None:
    """Asks the sidecars of a running system; None without a mesh."""
    facts = system.sidecar_facts()
    if facts is None:
        return None
    started = sum(name.endswith(SIDECAR_SUFFIX) for name in system.pids())
    return Sidecars(
        silent=started - facts.sidecars,
        refused=facts.refused,
        unencrypted=facts.unencrypted,
        encrypted=system.switches.mtls == "on",
    )
