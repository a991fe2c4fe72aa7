"""Computes a real answer for each journey: the reference answer of the parity check, from the seeded data."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import psycopg

from experiment.generator.shopload import BINARY, Shopload
from experiment.generator.tapes import parity_tape
from experiment.parity.reference import Reference
from experiment.plan.workload import workload_file
from mesh.components.postgres import database
from mesh.components.shop_processes import TRIAL_DATABASE, Data, database_task
from mesh.description.ports import Ports
from mesh.native.database_run import database_components, database_ports
from mesh.paths import RunFolder
from mesh.supervisor.processes import Component
from mesh.supervisor.run import Run
from serialisation.answer_types import KINDS

PAYLOAD = "10KB"
"""Size of the document in the journey `document`."""


def real_answers(ports: Ports, environ: Mapping[str, str], seed: int) -> dict[str, Any]:
    """Starts only the seeded database, and computes the answer to the first journey of each kind on a parity tape.

    `environ` has `DATABASE_URL`, and the tape's seed determines the answers' parameters.

    Raises:
        MeshError: The database did not start.
        GeneratorError: The tape could not be made.
    """
    folder = RunFolder.of(ports.base)
    server = database(ports, environ, folder)

    def components() -> list[Component]:
        store = database_components(server, folder, ports)
        return [*store, database_task(server, Data(), after=frozenset(item.name for item in store))]

    with tempfile.TemporaryDirectory(prefix="hopwise-serialisation-") as scratch:
        tape = parity_tape(
            Shopload(BINARY),
            Path(scratch, "tape.jsonl"),
            1,
            seed=seed,
            scale=Data().scale,
            workload=workload_file("document"),
            payload=PAYLOAD,
        )
        entries = [json.loads(line) for line in tape.path.read_text(encoding="utf-8").splitlines()[1:]]
    params = {entry["journey"]: entry["params"] for entry in reversed(entries)}
    with (
        Run(ports, folder, database_ports(server), components),
        psycopg.connect(server.admin_url_of(TRIAL_DATABASE), connect_timeout=10) as connection,
    ):
        return {journey: answer_of(journey, params[journey], connection) for journey in KINDS}


def answer_of(journey: str, params: Mapping[str, Any], connection: psycopg.Connection[Any]) -> Any:
    """Computes the answer to a journey over a connection that may read all four schemas."""
    answer = Reference(connection).answer(journey, params)
    if journey == "order_history":
        answer["user_id"] = params["user_id"]
    if journey == "checkout":
        (answer["id"],) = connection.execute("SELECT max(id) + 1 FROM shop_order.orders").fetchone() or (1,)
    return msgspec.convert(answer, KINDS[journey])
