"""Settings: defaults, and a clear message for each wrong setting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shop.platform.config import ConfigError, ServiceConfig, require_setting, value_of


def test_defaults() -> None:
    config = ServiceConfig.from_env({"SHOP_COMPONENT": "product", "SHOP_LISTEN_GRPC": ""})
    assert config == ServiceConfig(component="product")
    assert config.listen_grpc is None
    assert config.database_pool == 8


VARIABLES: list[tuple[str, str, object]] = [
    ("SHOP_COMPONENT", "component", "order"),
    ("SHOP_LISTEN_GRPC", "listen_grpc", "127.0.0.1:18030"),
    ("SHOP_LISTEN_REST", "listen_rest", "unix:/run/shop/rest.sock"),
    ("SHOP_LISTEN_GRAPHQL", "listen_graphql", "127.0.0.1:18032"),
    ("SHOP_LISTEN_THRIFT", "listen_thrift", "127.0.0.1:18033"),
    ("SHOP_LISTEN_THRIFT_JSON", "listen_thrift_json", "127.0.0.1:18034"),
    ("SHOP_LISTEN_THRIFT_ENTRANCE", "listen_thrift_entrance", "127.0.0.1:18035"),
    ("SHOP_LISTEN_HTTP", "listen_http", "[::1]:18010"),
    ("SHOP_LISTEN_METRICS", "listen_metrics", "127.0.0.1:18036"),
    ("SHOP_DATABASE_URL", "database_url", "postgresql://shop_order:shop_order@127.0.0.1:18060/shop_trial"),
    ("SHOP_DATABASE_POOL", "database_pool", 3),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "otlp_endpoint", "http://127.0.0.1:18070"),
    ("SHOP_JWT_PUBLIC_KEY_FILE", "jwt_public_key_file", "public.pem"),
    ("SHOP_JWT_PRIVATE_KEY_FILE", "jwt_private_key_file", "private.pem"),
    ("SHOP_BANK_DELAY_MS", "bank_delay_ms", 25),
    ("SHOP_PAGE_TOKEN_KEY", "page_token_key", b"key"),
    ("SHOP_EDGE_IDENTITY", "edge_identity", "spiffe://cluster.local/ns/default/sa/edge"),
    ("SHOP_LOG_LEVEL", "log_level", "DEBUG"),
]


def test_every_variable_is_read() -> None:
    given = {name: value.decode() if isinstance(value, bytes) else str(value) for name, _, value in VARIABLES}
    peers = {"product": "grpc://127.0.0.1:18020", "user": "http://127.0.0.1:18041"}
    given |= {f"SHOP_PEER_{name.upper()}": address for name, address in peers.items()}
    config = ServiceConfig.from_env({**given, "SHOP_SOCKET_USER": "/run/shop/user.sock"})
    fields: dict[str, Any] = {field: value for _, field, value in VARIABLES}
    assert config == ServiceConfig(**fields, peers=peers, sockets={"user": "/run/shop/user.sock"})


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SHOP_COMPONENT", "prodcut", "valid: product, order, user, payment, notification, "),
        ("SHOP_COMPONENT", "", "not set"),
        ("SHOP_LISTEN_GRPC", "18020", "host:port"),
        ("SHOP_LISTEN_REST", "127.0.0.1:70000", "65535"),
        ("SHOP_LISTEN_HTTP", ":80", "host:port"),
        ("SHOP_LISTEN_HTTP", "shop.sock", "unix:/absolute/path.sock"),
        ("SHOP_LISTEN_METRICS", "unix:/run/metrics.sock", "valid: host:port"),
        ("SHOP_LISTEN_GRPC", "unix:shop.sock", "must be absolute"),
        ("SHOP_LISTEN_GRPC", "unix:", "must be absolute"),
        ("SHOP_LISTEN_GRPC", "unix:/" + "é" * 54, "has 109 bytes and must have at most 107"),
        ("SHOP_LISTEN_GRPC", "unix:/run/a,b.sock", "must not contain a comma"),
        ("SHOP_SOCKET_PRODUCT", "product.sock", "must be absolute"),
        ("SHOP_SOCKET_PRODUCT", "/" + "x" * 107, "has 108 bytes and must have at most 107"),
        ("SHOP_SOCKET_PRODUCT", "/run/product.sock", "SHOP_PEER_PRODUCT is not set"),
        ("SHOP_SOCKET_USER", "/run/user.sock", "SHOP_PEER_USER has several addresses; a socket leads to one"),
        ("SHOP_DATABASE_URL", "mysql://host/db", "postgresql"),
        ("SHOP_CACHE_URL", "http://host:6379", "valkey or redis"),
        ("SHOP_CACHE_URL", "valkey://host:6379?colour=red", "without a ?"),
        ("SHOP_DATABASE_POOL", "0", "from 1 to 200"),
        ("SHOP_DATABASE_POOL", "²", "from 1 to 200"),
        ("SHOP_CONTRACT", "2", "valid: 1"),
        ("SHOP_PEER_PRODUCT", "127.0.0.1:18020", "grpc://host:port"),
        ("SHOP_PEER_PRODUCT", "ftp://127.0.0.1:1", "graphql://host:port"),
        ("SHOP_PEER_PRODUCT", "grpc://127.0.0.1:x", "grpc://host:port"),
        ("SHOP_PEER_PRODUCT", "grpc://127.0.0.1:1,127.0.1.1", "with commas between the addresses of several replicas"),
        ("SHOP_PEER_PRODUCT", "grpc://127.0.0.1:1,", "with commas between the addresses of several replicas"),
        ("SHOP_PEER_PRODUCT", "http://product:1,product-2:1", "must be IPv4 addresses, such as http://127.0.0.1:18020"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4317", "http"),
        ("SHOP_BANK_DELAY_MS", "-1", "from 0 to 60000"),
        ("SHOP_DRAIN_S", "61", "from 0 to 60"),
        ("SHOP_CONNECTION_AGE_S", "-1", "from 0 to 3600"),
        ("SHOP_AWAIT_STDIN", "yes", "valid: on, off"),
        ("SHOP_LOG_LEVEL", "LOUD", "DEBUG, INFO, WARNING, ERROR"),
        ("SHOP_REFLECTION", "product,cart", "'cart'; valid: product, order, user, payment, notification"),
        ("SHOP_GRAPHQL_LOADERS", "no", "valid: on, off"),
    ],
)
def test_wrong_value_is_named_with_the_valid_ones(name: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        ServiceConfig.from_env(
            {"SHOP_COMPONENT": "product", "SHOP_PEER_USER": "grpc://127.0.0.1:1,127.0.1.1:1", name: value}
        )
    assert name in str(refusal.value)
    assert said in str(refusal.value)


def test_longest_path_of_a_socket_is_valid() -> None:
    longest = "unix:/" + "x" * 106
    assert ServiceConfig.from_env({"SHOP_COMPONENT": "product", "SHOP_LISTEN_GRPC": longest}).listen_grpc == longest


def test_password_of_a_wrong_url_is_not_repeated() -> None:
    with pytest.raises(ConfigError) as refusal:
        ServiceConfig.from_env({"SHOP_COMPONENT": "product", "SHOP_DATABASE_URL": "mysql://me:secret@host/db"})
    assert "secret" not in str(refusal.value)


def test_required_setting_names_its_variable() -> None:
    assert require_setting("x", "SHOP_DATABASE_URL", "y") == "x"
    with pytest.raises(ConfigError, match="SHOP_DATABASE_URL is not set"):
        require_setting(None, "SHOP_DATABASE_URL", "postgresql://host/db")


URL = "postgresql://shop_order:hush@db.example:5432/shop"


def test_a_file_stands_for_the_value(tmp_path: Path) -> None:
    (tmp_path / "url").write_text(f"{URL}\n")
    env = {"SHOP_COMPONENT": "order", "SHOP_DATABASE_URL_FILE": str(tmp_path / "url")}
    assert ServiceConfig.from_env(env).database_url == URL
    (tmp_path / "pool").write_text("3\n")
    assert ServiceConfig.from_env(env | {"SHOP_DATABASE_POOL_FILE": str(tmp_path / "pool")}).database_pool == 3
    assert value_of({"SHOP_DATABASE_URL": URL}, "SHOP_DATABASE_URL") == URL
    assert value_of({"SHOP_DATABASE_URL": ""}, "SHOP_DATABASE_URL") is None


@pytest.mark.parametrize(
    ("content", "more", "why"),
    [
        (None, {}, "SHOP_DATABASE_URL_FILE: cannot read .*url: No such file"),
        (b"\xff", {}, "url is not text in UTF-8"),
        (URL.encode(), {"SHOP_DATABASE_URL": URL}, "SHOP_DATABASE_URL and SHOP_DATABASE_URL_FILE are both set"),
        (b"mysql://me:hush@host/db", {}, "SHOP_DATABASE_URL is not valid"),
    ],
)
def test_unreadable_values_are_reported_without_their_content(
    tmp_path: Path, content: bytes | None, more: dict[str, str], why: str
) -> None:
    if content is not None:
        (tmp_path / "url").write_bytes(content)
    env = {"SHOP_COMPONENT": "order", "SHOP_DATABASE_URL_FILE": str(tmp_path / "url"), **more}
    with pytest.raises(ConfigError, match=why) as refusal:
        ServiceConfig.from_env(env)
    assert "hush" not in str(refusal.value)
