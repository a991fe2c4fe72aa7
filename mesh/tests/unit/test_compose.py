"""The committed Compose file is up to date, and every topology's Compose file is complete and safe to run."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from jsonschema import Draft7Validator
from stand_ins import DEPLOYED
from typer.testing import CliRunner

from mesh.cli import app
from mesh.components.shop_processes import Data
from mesh.compose import FILE, FOLDER, KONG, SECRETS, compose_files
from mesh.description.topology import EDGE, load_topology
from mesh.edge import envoy, kong
from mesh.edge.plan import EdgePlan
from mesh.errors import TopologyError
from mesh.kubernetes.manifests.edge import ACCESS_LOG, CONFIG, ENVOY_FILE, KONG_FILE, edge_config
from mesh.kubernetes.options import ClusterOptions
from mesh.kubernetes.places import ClusterPlaces
from mesh.paths import ROOT

TASKS = {"secrets", "database"}
"""Services that exit by themselves when their task is done."""
OTHERS_IMAGES = {"jaeger", KONG}
"""Services whose images this project does not build."""


VALIDATOR = Draft7Validator(get_builtin_schema("vendor.compose-spec"))


@cache
def read(text: str) -> Any:
    return yaml.load(text, Loader=yaml.CSafeLoader)


@cache
def files_of(name: str, *, metrics: bool = False) -> dict[Path, str]:
    return compose_files(load_topology(name), Data(), ROOT, metrics=metrics)


@pytest.fixture(scope="module", params=DEPLOYED)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def services(name: str) -> dict[str, dict[str, Any]]:
    """The services of the topology's Compose file."""
    document = read(files_of(name)[FILE])
    services: dict[str, dict[str, Any]] = document["services"]
    return services


def test_there_are_no_pages_for_people_who_try_the_shop(name: str) -> None:
    texts = "".join(files_of(name).values())
    assert [word for word in ("SHOP_GRAPHIQL", "SHOP_REFLECTION", "ServerReflection", "<html") if word in texts] == []


def test_the_committed_files_are_up_to_date() -> None:
    for path, text in files_of("hybrid").items():
        assert (ROOT / path).read_text() == text, f"{path} is stale: run make compose"
    assert {path.name for path in (ROOT / FOLDER).iterdir()} == {
        path.name for path in files_of("hybrid") if path != FILE
    }


def test_stale_files_are_named(tmp_path: Path) -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["compose", "--out", str(tmp_path)]).exit_code == 0
    assert runner.invoke(app, ["compose", "--out", str(tmp_path), "--check"]).exit_code == 0
    (tmp_path / FOLDER / ENVOY_FILE).write_text("changed")
    checked = runner.invoke(app, ["compose", "--out", str(tmp_path), "--check"])
    assert checked.exit_code != 0
    assert f"{FOLDER / ENVOY_FILE}. Run `make compose`" in checked.output
    assert (tmp_path / FOLDER / ENVOY_FILE).read_text() == "changed"


@pytest.mark.parametrize("command", ["compose", "manifests"])
def test_a_file_where_a_folder_must_be_is_named(command: str, tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.touch()
    refused = CliRunner().invoke(app, [command, "--out", str(file)])
    assert refused.exit_code == 1
    assert re.search(rf"error: (File exists|Not a directory) at {file}", refused.output)


def test_components_by_other_programs_have_separate_images(tmp_path: Path) -> None:
    product = read(files_of("hybrid-go")[FILE])["services"]["product"]
    assert product["image"].endswith("/shop-go:${IMAGE_TAG:-compose}")
    assert (product["command"], product["build"]["target"]) == (["product"], "shop-go")
    assert product["environment"]["SHOP_CONTRACT"] == "1"
    services = read(mine(tmp_path, "{image: registry.example/product:3}")[FILE])["services"]
    assert services["product"]["image"] == "registry.example/product:3"
    assert not {"command", "build", "healthcheck"} & set(services["product"])
    # The image may have no program for a health check.
    assert services[EDGE]["depends_on"]["product"] == {"condition": "service_started"}
    with pytest.raises(TopologyError, match="mine: product has no image, and a cluster and Compose need its image"):
        mine(tmp_path, "{command: [./product]}")


def mine(folder: Path, program: str) -> dict[Path, str]:
    """Returns the files of hybrid whose product runs as another program."""
    file = folder / "mine.yaml"
    text = (ROOT / "mesh" / "topologies" / "hybrid.yaml").read_text().replace("name: hybrid", "name: mine")
    file.write_text(f"{text}programs:\n  product: {program}\n")
    return compose_files(load_topology(str(file)), Data(), ROOT)


def test_sources_are_named_from_where_the_file_lies() -> None:
    folder = ROOT / ".run" / "compose" / "rest"
    text = compose_files(load_topology("rest"), Data(), folder)[FILE]
    assert read(text)["services"]["secrets"]["build"]["context"] == "../../.."


def test_it_is_valid(name: str) -> None:
    VALIDATOR.validate(read(files_of(name)[FILE]))


def test_with_metrics_prometheus_asks_every_service_and_grafana_shows_it(name: str, tmp_path: Path) -> None:
    files = files_of(name, metrics=True)
    document = read(files[FILE])
    VALIDATOR.validate(document)
    services, config = document["services"], read(files[FOLDER / "prometheus.yaml"])
    asked = {job["job_name"]: job["static_configs"][0]["targets"] for job in config["scrape_configs"]}
    assert set(asked) == set(services) - TASKS - {"postgres", "prometheus", "grafana", KONG}
    for job, (target,) in asked.items():
        host, port = target.split(":")
        assert host == job
        listens = services[job].get("environment", {}).get("SHOP_LISTEN_METRICS", f"0.0.0.0:{port}")
        assert listens == f"0.0.0.0:{port}"
    assert "name: metrics" in files[FOLDER / ENVOY_FILE]
    mounts = [mount.split(":")[0] for one in ("prometheus", "grafana") for mount in services[one]["volumes"]]
    assert all(Path(mount.removeprefix("./")) in files or (ROOT / mount).exists() for mount in mounts)
    (source,) = read(files[FOLDER / "grafana-datasources.yaml"])["datasources"]
    assert source["url"] == "http://prometheus:18083"
    if shutil.which("promtool"):
        (tmp_path / "prometheus.yaml").write_text(files[FOLDER / "prometheus.yaml"])
        command = ["promtool", "check", "config", "--syntax-only", str(tmp_path / "prometheus.yaml")]
        subprocess.run(command, check=True, capture_output=True, timeout=30)


def test_no_container_has_a_privilege_that_it_does_not_need(services: dict[str, dict[str, Any]]) -> None:
    for name, service in services.items():
        assert service["user"] == "65532:65532", name
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges"], name
        assert not {"privileged", "cap_add", "pid", "ipc", "devices"} & set(service), name
        assert ("network_mode" in service) == (name == "secrets"), name
        assert service["cpus"] == 1.0, name
        assert service["mem_limit"], name
        assert service["pids_limit"], name
        assert service["restart"] == ("no" if name in TASKS else "unless-stopped"), name
        # Other Jaeger images may lack the programs for a health check.
        assert ("healthcheck" in service) == (name not in TASKS | {"jaeger"}), name


def test_only_this_machine_reaches_published_ports(services: dict[str, dict[str, Any]]) -> None:
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert set(published) <= {EDGE, KONG, "jaeger"}
    ports = [port for each in published.values() for port in each]
    assert all(port.startswith("127.0.0.1:$") for port in ports)
    assert len({port.split(":")[2] for port in ports}) == len(ports)


def test_every_host_in_a_process_s_settings_is_a_service(name: str, services: dict[str, dict[str, Any]]) -> None:
    for service in services.values():
        assert hosts_of_settings(service) <= set(services)
    files = files_of(name)
    for file in (ENVOY_FILE, KONG_FILE):
        config = read(files.get(FOLDER / file, "{}"))
        for host in hosts(config):
            assert host in services, file


def members(services: Mapping[str, Mapping[str, Any]]) -> list[set[str]]:
    """Returns the services of each network."""
    networks = {network for service in services.values() for network in service.get("networks", [])}
    return [
        {name for name, service in services.items() if network in service.get("networks", [])} for network in networks
    ]


def test_a_process_shares_a_network_with_every_host_that_it_calls(name: str) -> None:
    for metrics in (False, True):
        files = files_of(name, metrics=metrics)
        document = read(files[FILE])
        services = document["services"]
        called = {caller: hosts_of_settings(service) for caller, service in services.items()}
        for edge, file in ((EDGE, ENVOY_FILE), (KONG, KONG_FILE)):
            called.setdefault(edge, set()).update(hosts(read(files.get(FOLDER / file, "{}"))))
        if metrics:
            jobs = read(files[FOLDER / "prometheus.yaml"])["scrape_configs"]
            called["prometheus"] = {job["static_configs"][0]["targets"][0].split(":")[0] for job in jobs}
            called["grafana"] = {"prometheus"}
        together = members(services)
        for caller, callees in called.items():
            for callee in callees:
                assert any({caller, callee} <= network for network in together), f"{caller} cannot reach {callee}"
        assert {network["driver_opts"]["isolate"] for network in document["networks"].values()} == {"true"}
        assert set(document["networks"]) == {each for one in services.values() for each in one.get("networks", [])}


def test_only_users_of_the_database_share_a_network_with_it(name: str) -> None:
    services = read(files_of(name, metrics=True)[FILE])["services"]
    (network,) = [network for network in members(services) if "postgres" in network]
    assert network == {"postgres", "database", "postgres-exporter", *load_topology(name).services}


def test_an_edge_reaches_only_the_components_behind_it(name: str, services: dict[str, dict[str, Any]]) -> None:
    behind = {*load_topology(name).behind_edge, "jaeger"}
    for edge in {EDGE, KONG} & set(services):
        assert {each for network in members(services) if edge in network for each in network} == {edge, *behind}


def hosts_of_settings(service: Mapping[str, Any]) -> set[str]:
    """Returns the hosts that a process's environment names."""
    values = service.get("environment", {}).values()
    return {host for value in values for host in re.findall(r"//(?:\w+@)?([a-z-]+):\d+", value)}


def hosts(config: Any) -> Iterator[str]:
    """Yields the hosts in an edge's configuration: Envoy's addresses; Kong's services, targets and collector."""
    if isinstance(config, list):
        for item in config:
            yield from hosts(item)
    elif isinstance(config, dict):
        for key, value in config.items():
            # The name of a set of targets in Kong (an upstream) is not a host.
            is_host = key in ("address", "host") and isinstance(value, str)
            if is_host and not re.fullmatch(r"[0-9.]+|.+\.upstream", value):
                yield value
            if key == "target":
                yield value.partition(":")[0]
            if key == "traces_endpoint":
                yield re.sub(r"http://([a-z-]+):.*", r"\1", value)
            yield from hosts(value)


def test_every_dependency_exists(services: dict[str, dict[str, Any]]) -> None:
    for name, service in services.items():
        for other, how in service.get("depends_on", {}).items():
            ends = how["condition"] == "service_completed_successfully"
            assert ends == (other in TASKS), name
            # Podman 4.3 starts nothing after a container that has ended if the ended container depends on a running
            # one.
            assert not (name in TASKS and other not in TASKS), name
            assert how["condition"] != "service_healthy" or "healthcheck" in services[other], name


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the task `secrets` fills."""
    folder = tmp_path_factory.mktemp("secrets")
    subprocess.run([sys.executable, "-m", "shop.secrets", str(folder)], check=True, timeout=30)
    return folder


def test_every_named_secret_is_made_and_mounted_for_its_owner_only(
    services: dict[str, dict[str, Any]], secrets: Path
) -> None:
    mounted = set()
    for name, service in services.items():
        text = json.dumps({**service, "volumes": []})
        volumes = [mount for mount in service.get("volumes", []) if mount.startswith("secrets-")]
        if name == "secrets":
            continue
        folders = {mount.split(":")[1] for mount in volumes}
        mounted |= set(volumes)
        assert all(mount.endswith(":ro") for mount in volumes), name
        paths = re.findall(rf"{SECRETS}/[a-z./-]+", text)
        assert {str(Path(path).parent) for path in paths} == folders, name
        assert all((secrets / Path(path).relative_to(SECRETS)).is_file() for path in paths), name
    private = [name for name, service in services.items() if "jwt-private.pem" in json.dumps(service)]
    assert private == ["user"]
    holders = [name for name, service in services.items() if "secrets-user:" in json.dumps(service)]
    assert holders == ["secrets", "user"]
    made = {mount.removesuffix(":rw") for mount in services["secrets"]["volumes"]}
    assert {mount.removesuffix(":ro") for mount in mounted} <= made


def test_no_password_is_in_the_file(services: dict[str, dict[str, Any]]) -> None:
    assert not re.search(r"//[^/@\"]+:[^/@\"]+@", json.dumps(services))


def test_the_images_have_the_folders_of_the_volumes(services: dict[str, dict[str, Any]]) -> None:
    # Docker gives a new volume to the owner of the folder that it is mounted over, and Podman to the container's user.
    text = (ROOT / "Containerfile").read_text()
    listed = re.findall(r"(?:cd (\S+) && \S+\s+)?install -d -o 65532 -g 65532 -m 0700 (.+)$", text, re.MULTILINE)
    owned = {str(Path(base) / folder) for base, folders in listed for folder in folders.split()}
    written = [mount.split(":")[1] for name in ("secrets", "postgres") for mount in services[name]["volumes"]]
    assert {path for path in written if path.startswith("/var/lib/")} <= owned


def test_each_image_is_built_once_and_named_as_make_images_names_it(services: dict[str, dict[str, Any]]) -> None:
    built: dict[str, list[str]] = {}
    for name, service in services.items():
        if name in OTHERS_IMAGES:
            assert "build" not in service
            continue
        prefix, target, tag = re.split("/(?=[a-z-]+:)|:(?=[^:]+$)", service["image"].replace(":-", "="))
        assert (prefix, tag) == ("${IMAGE_PREFIX=localhost/hopwise}", "${IMAGE_TAG=compose}"), name
        built.setdefault(target, []).extend([service["build"]["target"]] if "build" in service else [])
        if "build" in service:
            (default,) = re.findall(r"^ARG BASE_IMAGE=(\S+)$", (ROOT / "Containerfile").read_text(), re.MULTILINE)
            assert service["build"]["args"] == {"BASE_IMAGE": f"${{BASE_IMAGE:-{default}}}"}
    assert built == {target: [target] for target in built}
    assert built.keys() - {"shop-go"} == {"shop", "postgres", "edge-envoy"}


def test_the_edge_is_that_of_a_cluster_but_for_its_log(name: str) -> None:
    topology, files = load_topology(name), files_of(name)
    plan = EdgePlan(topology, ClusterPlaces(), ACCESS_LOG)
    config = edge_config("envoy", plan, ClusterOptions(tag="t"))["data"][ENVOY_FILE]
    assert read(files[FOLDER / ENVOY_FILE]) == read(config.replace(str(ACCESS_LOG), "/dev/stdout"))
    if topology.transcodes:
        assert FOLDER / KONG_FILE not in files
        descriptor = envoy.DESCRIPTOR
        mounts = read(files[FILE])["services"][EDGE]["volumes"]
        assert f"./{descriptor.relative_to(ROOT)}:{CONFIG / descriptor.name}:ro,z" in mounts
    if not topology.needs_envoy:
        assert read(files[FOLDER / KONG_FILE]) == kong.render(plan)


def test_compose_substitutes_no_variables_in_a_process_s_settings(services: dict[str, dict[str, Any]]) -> None:
    for name, service in services.items():
        for part in ("command", "entrypoint", "environment", "healthcheck"):
            text = json.dumps(service.get(part, "")).replace("$$", "")
            assert "$" not in text, f"{part} of {name}"
