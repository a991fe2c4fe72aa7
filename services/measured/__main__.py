"""Runs a program of the shop for an experiment: `python -m measured product`."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial

from measured.runtime import running
from measured.settings import Measurement
from shop.clients.protocol_by_address import import_clients
from shop.platform.config import CORE, PEERS, ConfigError, ServiceConfig
from shop.platform.process.lifecycle import launch, leave
from shop.platform.process.runtime import Runtime
from shop.platform.serve import import_adapters

PROGRAMS = {
    **{service: f"shop.{service}" for service in PEERS},
    "graphql-gateway": "graphql_gateway",
    "rest-gateway": "rest_gateway",
}
"""The package of each program."""


def main(arguments: Sequence[str], env: Mapping[str, str]) -> int:
    """Runs the program that the one argument names; returns its exit code."""
    program = arguments[0] if len(arguments) == 1 else ""
    if program not in PROGRAMS:
        print(f"usage: python -m measured PROGRAM; valid: {', '.join(PROGRAMS)}", file=sys.stderr)
        return 2
    try:
        measurement = Measurement.from_env(env)
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    bootstrap = importlib.import_module(f"{PROGRAMS[program]}.bootstrap")
    imports = (partial(import_adapters, program), import_clients) if program in PEERS else ()
    stores = []
    if measurement.store == "memory" and program in CORE:
        stores = [importlib.import_module(f"memory_stores.{program}").open_store]

    async def serve(config: ServiceConfig, runtime: Runtime) -> None:
        await bootstrap.serve(config, runtime, *stores)

    return launch(serve, env, *imports, set_up=partial(running, measurement=measurement))


if __name__ == "__main__":
    leave(main(sys.argv[1:], os.environ))
