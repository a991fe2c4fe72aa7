from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mesh.database import database
from mesh.errors import InputError
from mesh.keys import KeyPair, key_pair
from mesh.paths import RunFolder
from mesh.ports import load_ports
from mesh.shop_processes import Surroundings, environment
from mesh.topology import load_topology

PORTS = load_ports({"SHOP_PORT_BASE": "30000"})


def around(**environ: str) -> Surroundings:
    return Surroundings(
        load_topology("hybrid"),
        PORTS,
        database(PORTS, environ),
        KeyPair(private=Path("/keys/private"), public=Path("/keys/public")),
        "t1",
        {"payment": {"SHOP_BANK_DELAY_MS": "5"}},
    )


def test_a_service_that_calls_others() -> None:
    assert environment("order", around()) == {
        "SHOP_COMPONENT": "order",
        "SHOP_TOPOLOGY": "hybrid",
        "SHOP_TRIAL": "t1",
        "OTEL_SERVICE_NAME": "order",
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:30070",
        "SHOP_DATABASE_URL": "postgresql://shop_order:shop_order@127.0.0.1:30060/shop_trial",
        "SHOP_LISTEN_GRPC": "127.0.0.1:30030",
        "SHOP_PEER_PRODUCT": "grpc://127.0.0.1:30020",
        "SHOP_PEER_USER": "grpc://127.0.0.1:30040",
        "SHOP_PEER_PAYMENT": "grpc://127.0.0.1:30050",
    }


def test_only_the_user_service_can_sign() -> None:
    topology = load_topology("hybrid")
    signing = [name for name in topology.components if "SHOP_JWT_PRIVATE_KEY_FILE" in environment(name, around())]
    assert signing == ["user"]


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


def test_a_delay_reaches_its_component_alone() -> None:
    delayed = replace(around(), delay_ms={"payment": 0.5})
    assert environment("payment", delayed)["SHOP_DELAY_US"] == "500"
    assert "SHOP_DELAY_US" not in environment("order", delayed)


def test_extra_settings_reach_their_component() -> None:
    assert environment("payment", around())["SHOP_BANK_DELAY_MS"] == "5"


def test_database_url_of_the_user() -> None:
    env = environment("user", around(DATABASE_URL="postgresql://me:secret@db.example:5433/postgres?sslmode=require"))
    assert env["SHOP_DATABASE_URL"] == ("postgresql://shop_user:shop_user@db.example:5433/shop_trial?sslmode=require")


@pytest.mark.parametrize("url", ["mysql://h/db", "postgresql:///db", "secret"])
def test_bad_database_url_is_not_repeated(url: str) -> None:
    with pytest.raises(InputError, match="must look like postgresql://") as error:
        database(PORTS, {"DATABASE_URL": url})
    assert url not in str(error.value)


def test_keys_are_kept_and_private(folder: RunFolder) -> None:
    keys = key_pair(folder)
    text = keys.private.read_text()
    assert key_pair(folder).private.read_text() == text
    assert "BEGIN PRIVATE KEY" in text
    assert "BEGIN PUBLIC KEY" in keys.public.read_text()
    assert keys.private.stat().st_mode & 0o077 == 0
