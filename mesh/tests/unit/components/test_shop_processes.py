from __future__ import annotations

import hashlib
import hmac
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from mesh.components.keys import PUBLIC_KEY, KeyPair, key_pair
from mesh.components.postgres import Database, database
from mesh.components.shop_processes import (
    Data,
    Surroundings,
    database_task,
    environment,
    role_passwords,
    shop_component,
)
from mesh.components.trial import require_fit
from mesh.components.valkey import cache, require_version
from mesh.description.ports import load_ports
from mesh.description.switches import Switches, parse_switches
from mesh.description.topology import SERVES, SERVICES, Program, load_topology, port_name
from mesh.errors import InputError, StartError, SwitchError, TopologyError
from mesh.paths import GRAPHIQL, ROOT, RunFolder

PORTS = load_ports({"SHOP_PORT_BASE": "30000"})
PASSWORD = hmac.new(b"secret", b"shop_order", hashlib.sha256).hexdigest()


ADMIN = "postgresql://me:secret@db.example:5433/postgres?sslmode=require"


def around(admin_url: str = ADMIN) -> Surroundings:
    return Surroundings(
        load_topology("hybrid"),
        Switches(),
        PORTS,
        Database(admin_url, embedded=False),
        KeyPair(private=Path("/keys/private"), public=Path("/keys/public")),
        "t1",
        {"payment": {"SHOP_BANK_DELAY_MS": "5"}},
    )


def test_another_checkout_supplies_programs_and_data_for_our_contract() -> None:
    topology = load_topology("hybrid").model_copy(update={"checkout": ".tools/versions/abc"})
    other, ours = (
        shop_component("product", replace(around(), topology=one), frozenset())
        for one in (topology, load_topology("hybrid"))
    )
    interpreter = str(ROOT / ".tools/versions/abc/.venv/bin/python")
    assert tuple(other.argv()) == (interpreter, "-m", "measured", "product")
    assert other.env == {**ours.env, "SHOP_CONTRACT": "1"}
    task = database_task(Database(ADMIN, embedded=False), Data(), frozenset(), checkout=topology.checkout)
    assert tuple(task.argv())[:3] == (interpreter, "-m", "dataset")


def test_a_command_replaces_our_program_and_gets_the_contract() -> None:
    command = Program(command=("/bin/sh", "-c", "exec product"))
    topology = load_topology("hybrid").model_copy(update={"programs": {"product": command}})
    other = shop_component("product", replace(around(), topology=topology), frozenset())
    ours = shop_component("product", around(), frozenset())
    assert tuple(other.argv()) == command.command
    assert other.env == {**ours.env, "SHOP_CONTRACT": "1"}
    assert (other.command, ours.command) == ("/bin/sh -c 'exec product'", "")
    assert tuple(shop_component("user", replace(around(), topology=topology), frozenset()).argv())[1:] == (
        "-m",
        "measured",
        "user",
    )


def test_a_command_that_is_not_there_is_named_with_its_component() -> None:
    topology = load_topology("hybrid").model_copy(
        update={"programs": {"product": Program(command=("/no/product", "-v"))}}
    )
    with pytest.raises(StartError, match=r"product \(command: /no/product -v\): there is no program /no/product"):
        shop_component("product", replace(around(), topology=topology), frozenset())


@pytest.mark.parametrize(
    ("switches", "said"),
    [
        ({"store": "memory"}, "store=memory with hybrid-go, .* runs as graphql-gateway and as product"),
        ({"cache": "valkey"}, "cache=valkey with hybrid-go"),
        ({"metrics": "on"}, "metrics=on with hybrid-go"),
        ({"hold": "product:1ms/2"}, "hold with hybrid-go"),
        ({"implementation": "user:go"}, "there is no user in 'go'"),
    ],
)
def test_switches_outside_of_the_contract_are_refused(switches: dict[str, str], said: str) -> None:
    with pytest.raises(SwitchError, match=said):
        require_fit(load_topology("hybrid-go"), parse_switches(**switches))


def test_a_program_must_have_a_command_or_an_image_for_the_runtime() -> None:
    topology = load_topology("hybrid").model_copy(update={"programs": {"product": Program(image="mine:1")}})
    require_fit(topology, parse_switches(runtime="kubernetes"))
    with pytest.raises(TopologyError, match="hybrid: product has no command, and this machine needs its command"):
        require_fit(topology, parse_switches())


def test_our_programs_support_switches_outside_of_the_contract() -> None:
    ours = "product:python,graphql-gateway:python"
    require_fit(load_topology("hybrid-go"), parse_switches(metrics="on", implementation=ours))
    require_fit(
        load_topology("hybrid-go"), parse_switches(mesh="envoy", mtls="on", replicas="product:2", hold="order:1ms/2")
    )


def test_an_implementation_must_serve_the_protocols_of_its_links() -> None:
    require_fit(load_topology("rest"), parse_switches(implementation="product:go"))
    with pytest.raises(SwitchError, match="product in go does not serve graphql; it serves grpc, rest"):
        require_fit(load_topology("graphql"), parse_switches(implementation="product:go"))
    with pytest.raises(SwitchError, match="graphql-gateway in go does not call over graphql; it calls over grpc"):
        require_fit(load_topology("graphql"), parse_switches(implementation="graphql-gateway:go"))


def test_the_gateway_in_go_has_no_updates() -> None:
    chosen = parse_switches(updates="on", implementation="graphql-gateway:go")
    with pytest.raises(SwitchError, match=r"updates=on with hybrid.* give implementation=graphql-gateway:python"):
        require_fit(load_topology("hybrid", updates="on"), chosen)
    require_fit(load_topology("hybrid", updates="on"), parse_switches(updates="on", implementation="product:go"))


def test_a_service_that_calls_others() -> None:
    assert environment("order", replace(around(), switches=Switches(tracing="sdk"))) == {
        "SHOP_COMPONENT": "order",
        "SHOP_TOPOLOGY": "hybrid",
        "SHOP_TRIAL": "t1",
        "SHOP_TRACING": "sdk",
        "OTEL_SERVICE_NAME": "order",
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:30070",
        "SHOP_DATABASE_URL": f"postgresql://shop_order:{PASSWORD}@db.example:5433/shop_trial?sslmode=require",
        "SHOP_STORE": "postgres",
        "SHOP_LISTEN_GRPC": "127.0.0.1:30030",
        "SHOP_PEER_PRODUCT": "grpc://127.0.0.1:30020",
        "SHOP_PEER_USER": "grpc://127.0.0.1:30040",
        "SHOP_PEER_PAYMENT": "grpc://127.0.0.1:30050",
    }


def test_a_further_replica_has_its_own_address_and_the_same_clients() -> None:
    several = replace(around(), places=replace(PORTS, replicas={"order": 2, "product": 2}))
    first, second = (shop_component("order", several, frozenset(), replica) for replica in (1, 2))
    assert (first.name, first.replica_of, second.name, second.replica_of) == ("order", "", "order-2", "order")
    changed = {name: value for name, value in second.env.items() if first.env[name] != value}
    assert changed == {"SHOP_INSTANCE": "order-2", "SHOP_LISTEN_GRPC": "127.0.1.1:30030"}
    assert second.env["SHOP_COMPONENT"] == "order"
    assert second.env["SHOP_PEER_PRODUCT"] == "grpc://127.0.0.1:30020,127.0.1.1:30020"
    assert second.env["SHOP_PEER_USER"] == "grpc://127.0.0.1:30040"


def test_separate_components_have_other_names_and_call_each_other() -> None:
    (replica,) = PORTS.apart.replicas_of("order")
    order = shop_component("order", replace(around(), places=PORTS.apart), frozenset(), replica)
    assert (order.name, order.replica_of) == ("order-apart", "order")
    assert (order.env["SHOP_COMPONENT"], order.env["OTEL_SERVICE_NAME"]) == ("order", "order")
    assert order.env["SHOP_LISTEN_GRPC"] == "127.0.8.1:30030"
    assert order.env["SHOP_PEER_PRODUCT"] == "grpc://127.0.8.1:30020"
    assert order.env["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://127.0.0.1:30070"


def test_only_the_user_service_can_sign() -> None:
    topology = load_topology("hybrid")
    signing = [name for name in topology.components if "SHOP_JWT_PRIVATE_KEY_FILE" in environment(name, around())]
    assert signing == ["user"]


@pytest.mark.parametrize(
    ("topology", "refusing"),
    [
        ("hybrid", {"graphql-gateway", "rest-gateway"}),
        ("rest", set(SERVICES) - {"notification"}),
        ("grpc", set(SERVICES) - {"notification"}),
    ],
)
def test_only_components_that_clients_reach_refuse_requests(topology: str, refusing: set[str]) -> None:
    several = replace(around(), topology=load_topology(topology), switches=Switches(admission="on"))
    names = several.topology.components
    assert {name for name in names if environment(name, several).get("SHOP_ADMISSION") == "on"} == refusing
    assert not any("SHOP_ADMISSION" in environment(name, replace(several, switches=Switches())) for name in names)


def test_services_that_clients_reach_compress_messages() -> None:
    several = replace(around(), topology=load_topology("grpc"), switches=Switches(compression="all"))
    packing = [name for name in several.topology.components if "SHOP_GRPC_COMPRESSION" in environment(name, several)]
    assert packing == [name for name in SERVICES if name in several.topology.exposed]
    assert "SHOP_GRPC_COMPRESSION" not in environment("product", replace(several, switches=Switches()))


def test_a_gateway_has_every_peer_and_no_database() -> None:
    env = environment("rest-gateway", around())
    assert env["SHOP_LISTEN_HTTP"] == "127.0.0.1:30011"
    assert {name for name in env if name.startswith("SHOP_PEER_")} == {
        "SHOP_PEER_PRODUCT",
        "SHOP_PEER_ORDER",
        "SHOP_PEER_USER",
        "SHOP_PEER_PAYMENT",
    }
    assert "SHOP_DATABASE_URL" not in env


def test_every_component_has_a_port_for_each_protocol_that_it_may_serve() -> None:
    served = {port_name(component, protocol) for component in SERVES for protocol in SERVES[component]}
    assert served <= set(PORTS.offsets)


def test_every_graphql_server_has_graphiql() -> None:
    everywhere = replace(around(), topology=load_topology("graphql"))
    for surroundings, shows in ((around(), ["graphql-gateway"]), (everywhere, everywhere.topology.components)):
        components = surroundings.topology.components
        with_page = {name: environment(name, surroundings).get("SHOP_GRAPHIQL") for name in components}
        assert with_page == {name: str(GRAPHIQL) if name in shows else None for name in components}


def test_a_delay_reaches_its_component_alone() -> None:
    delayed = replace(around(), switches=Switches(delay_ms={"payment": 0.5}))
    assert environment("payment", delayed)["SHOP_DELAY_US"] == "500"
    assert "SHOP_DELAY_US" not in environment("order", delayed)


def test_services_import_while_they_wait_and_gateways_do_not_wait() -> None:
    made = {name: shop_component(name, around(), frozenset({"database"})) for name in around().topology.components}
    made["database"] = database_task(Database(ADMIN, embedded=True), Data(), frozenset({"postgres"}))
    waiting = {name for name, component in made.items() if component.imports_meanwhile}
    assert (
        waiting
        == {name for name, component in made.items() if component.after}
        == {*around().topology.services, "database"}
    )
    assert waiting == {name for name, component in made.items() if component.env.get("SHOP_AWAIT_STDIN") == "on"}


def test_services_and_no_gateway_keep_their_data_in_memory_on_request() -> None:
    in_memory = replace(around(), switches=Switches(store="memory"))
    stores = {name: environment(name, in_memory).get("SHOP_STORE") for name in in_memory.topology.components}
    assert stores == {name: "memory" if name in SERVICES else None for name in stores}


def test_each_process_gets_the_folder_of_span_accounts() -> None:
    counted = shop_component("order", replace(around(), telemetry=Path("/run/telemetry")), frozenset())
    assert counted.env["SHOP_TELEMETRY_FOLDER"] == "/run/telemetry"
    assert "SHOP_TELEMETRY_FOLDER" not in shop_component("order", around(), frozenset()).env


def test_extra_settings_reach_their_component() -> None:
    assert environment("payment", around())["SHOP_BANK_DELAY_MS"] == "5"


def test_passwords_follow_from_the_administrator_s() -> None:
    same = Database("postgresql://me:secret@other.example/db", embedded=False)
    assert role_passwords(same) == role_passwords(Database(ADMIN, embedded=False))
    changed = Database(ADMIN.replace("secret", "se%63ret!"), embedded=False)
    passwords = [*role_passwords(same).values(), *role_passwords(changed).values()]
    assert len(set(passwords)) == 2 * len(SERVICES)
    assert not any("secret" in password for password in passwords)


def test_command_lines_and_representations_have_no_password() -> None:
    db = Database(ADMIN, embedded=False)
    task = database_task(db, Data(), frozenset())
    assert "secret" not in " ".join(task.argv())
    assert task.env["SHOP_ADMIN_URL"] == ADMIN
    assert "secret" not in repr(db)


@pytest.mark.parametrize("component", SERVES)
def test_products_and_users_are_read_through_the_cache(component: str) -> None:
    own = cache(PORTS, {}, Database(ADMIN, embedded=False))
    named = {name for name in environment(component, replace(around(), cache=own)) if "CACHE" in name}
    assert named == ({"SHOP_CACHE_URL", "SHOP_CACHE_NAMESPACE"} if component in ("product", "user") else set())
    assert own.namespace != cache(PORTS, {}, Database(ADMIN, embedded=False)).namespace


@pytest.mark.parametrize(
    "url", ["https://:secret@h", "valkey://", "valkeys://:secret@h", "secret", "valkey://h:0", "valkey://h?colour=red"]
)
def test_bad_cache_url_is_not_repeated(url: str) -> None:
    with pytest.raises(InputError, match="CACHE_URL: must look like valkey://:password@host:6379") as error:
        cache(PORTS, {"CACHE_URL": url}, Database(ADMIN, embedded=False))
    assert url not in str(error.value).replace("valkey://:password@host:6379", "")


@pytest.mark.parametrize(
    ("info", "message"),
    [
        ({"valkey_version": "8.1.8", "redis_version": "7.2.4"}, ""),
        ({"redis_version": "7.2.0"}, ""),
        ({"redis_version": "8.0.1"}, ""),
        ({"redis_version": "6.2.14"}, r"names is Redis 6.2.14; needed: 7.2 or newer"),
        ({}, r"names is Redis None; needed: 7.2"),
    ],
)
def test_an_old_cache_is_refused(info: dict[str, str], message: str) -> None:
    with pytest.raises(StartError, match=message) if message else nullcontext():
        require_version(info)


@pytest.mark.parametrize(
    "url", ["mysql://h/db", "postgresql:///db", "secret", "postgresql://me@h/db", "postgresql://me:se/cret@h/db"]
)
def test_bad_database_url_is_not_repeated(url: str, folder: RunFolder) -> None:
    with pytest.raises(InputError, match="must look like postgresql://admin:password@") as error:
        database(PORTS, {"DATABASE_URL": url}, folder)
    assert url not in str(error.value)


def test_keys_are_kept_and_private(folder: RunFolder) -> None:
    keys = key_pair(folder.keys)
    text = keys.private.read_text()
    assert key_pair(folder.keys).private.read_text() == text
    assert "BEGIN PRIVATE KEY" in text
    assert "BEGIN PUBLIC KEY" in keys.public.read_text()
    assert keys.private.stat().st_mode & 0o077 == 0


def test_an_interrupted_start_leaves_no_half_of_a_key(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_bytes

    def write_half(file: Path, content: bytes) -> int:
        if PUBLIC_KEY not in file.name:
            return write(file, content)
        write(file, content[:9])
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", write_half)
        with pytest.raises(KeyboardInterrupt):
            key_pair(folder.keys)
    assert "END PUBLIC KEY" in key_pair(folder.keys).public.read_text()
