"""A shop with components and data from another checkout, and this checkout's edge, generator and database server."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import psycopg
import pytest

from experiment.arguments import WORKLOADS
from experiment.errors import ParityError
from experiment.generator.shopload import BINARY, Shopload
from experiment.generator.tapes import parity_tape
from experiment.parity.answers import check_answers
from experiment.plan.workload import DOCUMENT
from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.description.ports import Ports
from mesh.description.switches import Switches
from mesh.description.topology import load_topology
from mesh.native.system import System
from mesh.paths import ROOT

from ...needs import needs_generator
from ..test_broken_adapters import ONE_CENT_LESS

MIGRATION = (
    "-- depends: 0004.stocked-pieces\n\nCREATE TABLE shop_product.of_the_other_version (id bigint PRIMARY KEY);\n"
)
WITH_PRICES = ("browse", "product", "order_history", "order_status", "checkout", "bulk_lines", DOCUMENT)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A checkout with its own migration, whose gateways show prices that are one cent too low.

    Its interpreter is this checkout's, but finds the modules of the other folder first.
    """
    checkout = tmp_path / "other"
    for name in ("services", "graphql-gateway", "rest-gateway", "proto"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("go", "tests", "__pycache__"))
    services = checkout / "services"
    (services / "sitecustomize.py").write_text(ONE_CENT_LESS, encoding="utf-8")
    (services / "shop/product/migrations/9999.other-version.sql").write_text(MIGRATION, encoding="utf-8")
    python = checkout / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    modules = os.pathsep.join(str(checkout / name) for name in ("services", "graphql-gateway", "rest-gateway", "proto"))
    command = f"exec env PYTHONPATH={shlex.quote(modules)} {shlex.quote(sys.executable)}"
    python.write_text(f'#!/bin/sh\n{command} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    return checkout


@needs_generator
def test_a_version_brings_its_programs_and_its_data(other: Path, tmp_path: Path, shop_ports: Ports) -> None:
    shopload = Shopload(BINARY)
    tape = parity_tape(
        shopload, tmp_path / "tape", 1, seed=1, scale=1, workload=WORKLOADS / "default.yaml", payload="1KB"
    )
    topology = load_topology("hybrid").model_copy(update={"checkout": str(other)})
    with System(topology, Switches(trace=0.0), shop_ports, "other") as system:
        compared = check_answers(system, shopload, tape, tmp_path / "answers", may_differ=WITH_PRICES)
        with pytest.raises(ParityError, match=r"price\.amount_minor: \d+, expected \d+"):
            check_answers(system, shopload, tape, tmp_path / "again")
        with psycopg.connect(system.database.admin_url_of(TRIAL_DATABASE), connect_timeout=10) as connection:
            connection.execute("SELECT * FROM shop_product.of_the_other_version")
    assert {row["journey"] for row in compared} == {"login", "update_profile"}
