"""`gateway/` has the configuration of a run's edges."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from mesh.components.trial import entrance
from mesh.description.ports import load_ports
from mesh.description.switches import Switches
from mesh.description.topology import EDGE, load_topology
from mesh.edge.component import ACCESS_LOG, edge_component
from mesh.edge.plan import STDOUT, EdgePlan
from mesh.edge.rendered import ENVOY, FOLDER, KONG, KONG_SETTINGS, TOPOLOGY, rendered_files
from mesh.paths import ROOT, RunFolder


@pytest.mark.parametrize("path", rendered_files(), ids=str)
def test_the_committed_files_are_up_to_date(path: Path) -> None:
    assert (FOLDER / path).read_text() == rendered_files()[path], "run `make gateway`"


def test_they_name_no_folder_of_the_machine_that_made_them() -> None:
    assert not [path for path, text in rendered_files().items() if str(ROOT) in text or "/home" in text]


def test_a_run_has_the_same_files_except_for_its_log_and_admin_page(tmp_path: Path) -> None:
    folder = RunFolder.of(1, tmp_path)
    plan = EdgePlan(load_topology(TOPOLOGY), load_ports({}), folder.logs / ACCESS_LOG)
    edge_component("envoy", plan, folder, os.environ)
    of_run = yaml.safe_load((folder.config / "envoy.yaml").read_text().replace(str(plan.access_log), str(STDOUT)))
    committed = yaml.safe_load((FOLDER / ENVOY).read_text())
    assert list(of_run["admin"].pop("address")) == ["pipe"]
    assert committed["admin"].pop("address")["socket_address"]["port_value"] == load_ports({})["edge-admin"]
    assert of_run == committed


def test_kong_listens_at_the_edge_s_address_and_reads_the_file_next_to_its_settings() -> None:
    text = (FOLDER / KONG_SETTINGS).read_text()
    settings = dict(line.split(" = ", 1) for line in text.splitlines() if not line.startswith("#"))
    url = entrance(Switches(), load_ports({}), EDGE)
    assert url == f"http://{settings['proxy_listen'].split()[0]}"
    assert ROOT / settings["declarative_config"] == FOLDER / KONG
