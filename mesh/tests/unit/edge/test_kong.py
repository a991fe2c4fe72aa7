from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from mesh import paths
from mesh.description.ports import load_ports
from mesh.description.topology import EDGE, load_topology
from mesh.edge import kong
from mesh.edge.component import kong_component, write_config
from mesh.edge.plan import EdgePlan
from mesh.errors import NotInstalledError
from mesh.paths import RunFolder, kong_version
from mesh.paths import kong as kong_program
from mesh.sidecars.workloads import workloads

PORTS = load_ports({"SHOP_PORT_BASE": "30000"})
PLAN = EdgePlan(load_topology("hybrid"), PORTS, Path("/logs/edge.jsonl"))


def fake_kong(folder: Path, script: str) -> Path:
    """Writes a program that can only print its version."""
    program = folder / "kong"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


def test_several_places_share_a_component_s_requests() -> None:
    config = kong.render(replace(PLAN, places=replace(PORTS, replicas={"graphql-gateway": 2})))
    (upstream,) = config["upstreams"]
    assert [target["target"] for target in upstream["targets"]] == ["127.0.0.1:30010", "127.0.1.1:30010"]
    hosts = {service["name"]: service["host"] for service in config["services"]}
    assert hosts == {"graphql-gateway": upstream["name"], "rest-gateway": "127.0.0.1"}
    assert [service["retries"] for service in config["services"]] == [1, 0]
    assert upstream["healthchecks"]["active"]["http_path"] == "/healthz"


def test_replicas_that_speak_grpc_are_not_checked_over_http() -> None:
    several = replace(PORTS, replicas={"product": 2})
    (upstream,) = kong.render(replace(PLAN, topology=load_topology("grpc"), places=several))["upstreams"]
    assert "healthchecks" not in upstream


def test_kong_has_no_port_but_the_edge_s_and_one_for_metrics_on_request(tmp_path: Path) -> None:
    program = fake_kong(tmp_path, "echo 3.9.3")
    for plan, plugins, others in ((PLAN, 0, {"off"}), (replace(PLAN, metrics=True), 1, {"off", "127.0.0.1:30002"})):
        folder = RunFolder.of(PORTS.base, tmp_path)
        component = kong_component(plan, folder, {"KONG_BIN": str(program)})
        listening = {name: value for name, value in component.env.items() if name.endswith("_LISTEN")}
        assert listening.pop("KONG_PROXY_LISTEN").startswith("127.0.0.1:30000 ")
        assert set(listening.values()) == others
        assert (folder.config / "kong.yaml").read_text().count("name: prometheus\n") == plugins


def test_with_a_mesh_requests_go_to_the_sidecar_s_socket() -> None:
    topology, folder = load_topology("hybrid"), RunFolder(Path("/run/30000"))
    sidecar = next(one for one in workloads(topology, PORTS, folder) if one.name == EDGE)
    config = kong.render(EdgePlan(topology, PORTS, Path("/logs/edge.jsonl"), sidecar))
    for service, outbound in zip(config["services"], sidecar.outbound, strict=True):
        (function,) = (one["config"]["access"][0] for one in service["plugins"] if one["name"] == "post-function")
        assert f'"{outbound.socket}", "{outbound.authority}"' in function


def test_in_a_cluster_s_mesh_requests_carry_the_sidecar_s_host() -> None:
    for service in kong.render(replace(PLAN, by_host=True))["services"]:
        (function,) = (one["config"]["access"][0] for one in service["plugins"] if one["name"] == "post-function")
        assert f'SOCKET, AUTHORITY = nil, "127.0.0.1:{service["port"]}"' in function


def test_lua_is_written_verbatim(tmp_path: Path) -> None:
    config = kong.render(PLAN)
    file = write_config(tmp_path / "kong.yaml", config)
    assert yaml.safe_load(file.read_text()) == config
    assert "\nfunction phases.rewrite()" not in file.read_text()  # indented, like a literal block's lines
    assert "function phases.rewrite()\n" in file.read_text()


@pytest.mark.parametrize(
    ("environ", "cause"),
    [({"PATH": ""}, "there is no kong on PATH"), ({"KONG_BIN": "/no/kong"}, "KONG_BIN=/no/kong is not a program")],
)
def test_without_kong_the_message_says_how_to_get_one(environ: dict[str, str], cause: str) -> None:
    with pytest.raises(NotInstalledError, match=f"{cause}.*official package.*edge=envoy does not need Kong"):
        kong_program(environ)


def test_kong_is_the_named_program_or_the_first_on_path(tmp_path: Path) -> None:
    program = fake_kong(tmp_path, "echo 3.9.3")
    assert kong_program({"PATH": str(tmp_path)}) == program
    assert kong_program({"PATH": "", "KONG_BIN": str(program)}) == program
    assert kong_version(program) == "3.9.3"


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("true", "'nothing'"),
        ("echo 2.8.4", "'2.8.4'"),
        ("echo 3.9.3; exit 1", "'nothing'"),
        ("echo '\\033[31m'", r"'\\x1b\[31m'"),
        ("exec sleep 60", "'nothing'"),
    ],
)
def test_the_error_for_another_program_than_kong_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, says: str
) -> None:
    monkeypatch.setattr(paths, "KONG_LIMIT_S", 1.0)
    program = fake_kong(tmp_path, script)
    with pytest.raises(NotInstalledError, match=f"`{program} version` prints {says}, which is not a version of Kong 3"):
        kong_program({"KONG_BIN": str(program)})
