"""Runs the gateway (`python -m graphql_gateway`), or prints its schema (`python -m graphql_gateway schema`)."""

from __future__ import annotations

import os
import sys

from shop.platform.process.lifecycle import launch, leave

USAGE = "usage: python -m graphql_gateway [schema]"


def main(arguments: list[str]) -> int:
    """Serves with the environment's settings or, with the argument "schema", prints the schema."""
    if arguments == ["schema"]:
        from graphql_gateway.schema import build_schema

        print(build_schema().as_str())
        return 0
    if arguments:
        print(f"error: unknown arguments {' '.join(arguments)}\n{USAGE}", file=sys.stderr)
        return 2

    from graphql_gateway.bootstrap import serve

    return launch(serve, os.environ)


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
