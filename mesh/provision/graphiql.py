"""The files of the GraphiQL page, fetched from the npm registry once for all checkouts of this user.

No Python package contains a current GraphiQL. GraphiQL 4 and React 18 are the last versions that come as plain
scripts; later versions need a bundler.
"""

from __future__ import annotations

import hashlib

from provision.npm import Package, fetch_packages
from provision.paths import TOOLS, cache
from provision.shared import link_to_shared

LINK = TOOLS / "graphiql"

PACKAGES = (
    Package(
        "graphiql",
        "4.1.2",
        "rNlzQIAzm6i2KBXmVQWBgLvt0TloxFVB2d18bukvdsvjEuFDHsKx5IVOomL1W1o5WW+tE54+ioHb2AEKzO2cUg==",
        {"graphiql.js": "package/graphiql.min.js", "graphiql.css": "package/graphiql.min.css"},
    ),
    Package(
        "react",
        "18.3.1",
        "wS+hAgJShR0KhEvPJArfuPVN1+Hz1t0Y6n5jLrGQbkb4urgPE/0Rve+1kMB1v/oWgHgm4WIcV+i7F2pTVj+2iQ==",
        {"react.js": "package/umd/react.production.min.js"},
    ),
    Package(
        "react-dom",
        "18.3.1",
        "5m4nQKp+rZRb09LNH59GM4BxTh9251/ylbKIbpe7TpGxfJ+9kv6BLkLBXIjjspbgbnIBNqlI23tRnTWT0snUIw==",
        {"react-dom.js": "package/umd/react-dom.production.min.js"},
    ),
)


def fetch() -> None:
    """Puts `.tools/graphiql` in place, and fetches its files if the shared cache does not have them."""
    pins = hashlib.sha256(repr(PACKAGES).encode()).hexdigest()[:12]
    files = cache() / f"graphiql-{PACKAGES[0].version}-{pins}" / "files"
    link_to_shared(LINK, files, lambda into: fetch_packages(PACKAGES, "Fetching GraphiQL", into))
