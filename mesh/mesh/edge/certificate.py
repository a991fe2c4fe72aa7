"""The certificate that the edge presents to clients, and the authority that they trust."""

from __future__ import annotations

from mesh.description.ports import HOST
from mesh.description.topology import EDGE
from mesh.paths import RunFolder
from mesh.sidecars.certificates import Certificate, issue, make_authority

NAMES = ("localhost", HOST, EDGE)
"""The host names and addresses by which clients may reach the edge."""


def edge_certificate(folder: RunFolder) -> Certificate:
    """A new certificate for the edge, from a new authority; both are stored with the run's keys.

    As on the web, the edge also sends an intermediate certificate, between its own certificate and the root.
    """
    return issue(make_authority(folder.keys / "edge-ca", EDGE, identity=""), NAMES, folder.keys / EDGE)
