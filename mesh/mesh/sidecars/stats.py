"""What the sidecars of a mesh say of themselves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SidecarFacts:
    """Counts over all sidecars since they started.

    Attributes:
        refused: Configuration updates that a sidecar refused.
        unencrypted: Inbound sidecars without a TLS handshake; None without mTLS.
        sidecars: How many sidecars answered.
    """

    refused: int
    unencrypted: int | None
    sidecars: int
