"""The programs of `make docs`: Sphinx in a separate environment, and Mermaid, which draws diagrams in the browser."""

from __future__ import annotations

from provision.environment import DOCS_LOCK, install_locked
from provision.npm import Package, fetch_packages
from provision.paths import TOOLS, cache
from provision.shared import link_to_shared

ENVIRONMENT = TOOLS / "docs"
LINK = TOOLS / "mermaid"
MERMAID = Package(
    "mermaid",
    "12.3.0",
    "4113TdXeLAsMruJ79OpFL5O8+LTFXhQqZ260rF3tgUmiNAtRm4Uume04I+65PRN6yZ69J4f8rVYWW8zRk65UYw==",
    {"mermaid.js": "package/dist/mermaid.min.js"},
)


def install() -> None:
    """Installs the locked Sphinx."""
    install_locked(DOCS_LOCK, ENVIRONMENT, "Installing Sphinx, which builds the site", "10 s, 90 MB")


def fetch_mermaid() -> None:
    """Puts `.tools/mermaid` in place, and fetches it if the shared cache does not have it."""
    files = cache() / f"mermaid-{MERMAID.version}" / "files"
    link_to_shared(LINK, files, lambda into: fetch_packages([MERMAID], "Fetching Mermaid", into))
