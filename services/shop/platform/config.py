"""The settings of one process, read once from its environment: each setting is one line of `ServiceConfig`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import fields

from shop.platform.page_token import DEFAULT_KEY

NOTIFICATION = "notification"
CORE = ("product", "order", "user", "payment")
"""The services that every shop has."""
PEERS = (*CORE, NOTIFICATION)
COMPONENTS = (*PEERS, "product-canary", "graphql-gateway", "rest-gateway")
PEER_SCHEMES = ("grpc", "http", "graphql", "thrift", "thrift-json")
UNIX_SCHEME = "unix:"
MAX_SOCKET_PATH = 107  # bytes that a socket's address in the kernel has for the path
EDGE_MARK = "x-hopwise-edge"
"""The header with which the edge marks all requests from outside; its value is the client's address."""


class StartError(RuntimeError):
    """The process cannot get something that it needs to start; the message says what, and what to do."""


def port_in_use(listen: str, reason: str | None) -> StartError:
    """Returns the error for an address that the process cannot listen on."""
    return StartError(f"cannot listen on {listen}: {reason}; free the port, or set another SHOP_PORT_BASE")


class ConfigError(ValueError):
    """An environment variable is missing or not valid; the message names it and the valid values."""


def choice(text: str, *valid: str) -> str:
    if text not in valid:
        raise ValueError(f"is {repr(text) if text else 'not set'}; valid: {', '.join(valid)}")
    return text


def whole(text: str, minimum: int, maximum: int) -> int:
    if not (text.isascii() and text.isdigit() and minimum <= int(text) <= maximum):
        raise ValueError(f"is {text!r}; valid: an integer from {minimum} to {maximum}")
    return int(text)


def _url(text: str, *schemes: str) -> str:
    if not _is_url(text, schemes):
        # The message does not repeat the text, which may contain a password.
        raise ValueError(f"is not valid; valid: a URL with a host and the scheme {' or '.join(schemes)}")
    return text


def _cache_url(text: str) -> str:
    # The cache's client would take parameters for arguments of its connections.
    if urlsplit(_url(text, "valkey", "redis")).query:
        raise ValueError("has parameters; valid: valkey://user:password@host:port/number, without a ?")
    return text


def _switch(text: str) -> bool:
    return choice(text, "on", "off") == "on"


def _peers(text: str) -> tuple[str, ...]:
    peers = tuple(filter(None, text.split(",")))
    if unknown := set(peers).difference(PEERS):
        raise ValueError(f"names {min(unknown)!r}; valid: {', '.join(PEERS)}, with commas between them")
    return peers


def _address(text: str) -> str:
    if (path := socket_path(text)) is not None:
        _socket(path)
        return text
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        valid = "host:port with a port from 0 to 65535, such as 127.0.0.1:18020, or unix:/absolute/path.sock"
        raise ValueError(f"is {text!r}; valid: {valid}")
    return text


def _port(text: str) -> str:
    if socket_path(text) is not None:
        raise ValueError(f"is {text!r}; valid: host:port, such as 127.0.0.1:18026")
    return _address(text)


def _socket(path: str) -> str:
    if not path.startswith("/"):
        raise ValueError(f"is {path!r}; the socket's path must be absolute, such as /run/shop/product.sock")
    if (size := len(os.fsencode(path))) > MAX_SOCKET_PATH:
        raise ValueError(f"is {path!r}; the socket's path has {size} bytes and must have at most {MAX_SOCKET_PATH}")
    # gRPC reads a comma as the separator of two addresses.
    if "," in path:
        raise ValueError(f"is {path!r}; the socket's path must not contain a comma")
    return path


def _peer(text: str) -> str:
    scheme, _, places = text.partition("://")
    urls = [f"{scheme}://{place}" for place in places.split(",")]
    if not all(_is_url(url, PEER_SCHEMES) and urlsplit(url).port for url in urls):
        valid = ", ".join(f"{scheme}://host:port" for scheme in PEER_SCHEMES)
        raise ValueError(f"is {text!r}; valid: {valid}, with commas between the addresses of several replicas")
    if len(urls) > 1 and not all(is_ipv4(urlsplit(url).hostname or "") for url in urls):
        example = f"{scheme}://127.0.0.1:18020,127.0.1.1:18020"
        raise ValueError(f"is {text!r}; the addresses of several replicas must be IPv4 addresses, such as {example}")
    return text


def _is_url(text: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


Listen: TypeAlias = Annotated[str | None, _address]
Switch: TypeAlias = Annotated[bool, _switch]


class ServiceConfig(Struct, frozen=True, kw_only=True):
    """The settings of one process.

    `Annotated` has the type of a setting, the function that reads it, and that function's arguments. The variable of a
    setting is `SHOP_` and its name in capitals. The value may also be in the file that `NAME_FILE` names.
    """

    component: Annotated[str, choice, *COMPONENTS]  # its service.name in traces.
    contract: Annotated[str, choice, "1"] = "1"  # version of the contract that a third-party program implements.
    instance: str | None = None  # name among the component's replicas, as "order-2"; its service.instance.id in traces.
    # Where to serve each protocol: "host:port", or "unix:" and the path of a socket; None for not at all.
    listen_grpc: Listen = None
    listen_rest: Listen = None
    listen_graphql: Listen = None
    listen_federation: Listen = None  # GraphQL as a subgraph; all callers are clients.
    listen_thrift: Listen = None  # framed.
    listen_thrift_entrance: Listen = None  # framed, where all callers are clients: no edge marks their calls.
    listen_thrift_json: Listen = None  # TJSON over HTTP.
    listen_connect: Listen = None
    listen_http: Listen = None  # HTTP of a gateway.
    listen_metrics: Annotated[str | None, _port] = None
    database_url: Annotated[str | None, _url, "postgresql", "postgres"] = None
    database_pool: Annotated[int, whole, 1, 200] = 8  # number of connections to keep open.
    cache_url: Annotated[str | None, _cache_url] = None
    cache_namespace: str = "shop"  # first part of every key.
    cache_bound_ms: Annotated[int, whole, 1_000, 3_600_000] = 60_000  # how long an entry may outlive a lost deletion.
    cache_limit_ms: Annotated[int, whole, 1, 10_000] = 10  # how long a request waits for the cache's answer.
    edge_cache: Annotated[str | None, _socket] = None  # socket at which a shared cache purges answers (`BAN`).
    # Address of each service that this process calls, from SHOP_PEER_…: "grpc://127.0.0.1:18020". Commas separate
    # replicas. The path of a socket, from SHOP_SOCKET_…, replaces that address.
    peers: Mapping[str, str] = {}
    sockets: Mapping[str, str] = {}
    otlp_endpoint: Annotated[str | None, _url, "http", "https"] = None  # OTEL_EXPORTER_OTLP_ENDPOINT: where spans go.
    jwt_public_key_file: str | None = None
    jwt_private_key_file: str | None = None  # the user service only.
    bank_delay_ms: Annotated[int, whole, 0, 60_000] = 0  # how long the simulated bank takes.
    admission: Switch = False  # refuse requests when overloaded.
    drain_s: Annotated[int, whole, 0, 60] = 0  # how long HTTP clients have to leave before the process ends.
    grpc_compression: Switch = False  # compress gRPC's messages for clients that accept gzip.
    connection_age_s: Annotated[int, whole, 0, 3_600] = 0  # age at which gRPC clients connect anew; 0 for never.
    edge_identity: str | None = None  # SPIFFE ID of the edge, whose calls come from outside; None without mTLS.
    page_token_key: Annotated[bytes, str.encode] = DEFAULT_KEY
    await_stdin: Switch = False  # wait for the end of standard input after the imports.
    log_level: Annotated[str, choice, "DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    graphql_loaders: Switch = True  # batch the reads of the GraphQL gateway; off is the naive variant.
    reflection: Annotated[tuple[str, ...], _peers] = ()  # components whose services gRPC reflection lists, too.
    graphiql: str | None = None  # folder of GraphiQL's files; None for no page.

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> ServiceConfig:
        """Reads the settings from an environment, where empty variables count as absent; raises `ConfigError`."""
        settings = read_settings(cls, env)
        peers = _read_by_peer(env, "SHOP_PEER_", _peer)
        sockets = _read_by_peer(env, "SHOP_SOCKET_", _socket)
        for peer, path in sockets.items():
            prefix = f"SHOP_SOCKET_{peer.upper()} is {path!r}, but SHOP_PEER_{peer.upper()}"
            if peer not in peers:
                raise ConfigError(f"{prefix} is not set; it must name the protocol that the socket is for")
            if "," in peers[peer]:
                raise ConfigError(f"{prefix} has several addresses; a socket leads to one")
        return cls(**settings | {"peers": peers, "sockets": sockets})


def read_settings(form: type[Struct], env: Mapping[str, str]) -> dict[str, Any]:
    """Reads the settings of a struct that declares them as `ServiceConfig` does; raises its `ConfigError`."""
    settings: dict[str, Any] = {}
    for setting in fields(form):
        name = "OTEL_EXPORTER_OTLP_ENDPOINT" if setting.name == "otlp_endpoint" else f"SHOP_{setting.name.upper()}"
        if setting.required or value_of(env, name):
            settings[setting.name] = _read(env, name, *getattr(setting.type, "__metadata__", ()))
    return settings


def _read_by_peer(env: Mapping[str, str], prefix: str, reader: Callable[[str], str]) -> dict[str, Any]:
    names = {peer: prefix + peer.upper() for peer in PEERS}
    return {peer: _read(env, name, reader) for peer, name in names.items() if value_of(env, name)}


def _read(env: Mapping[str, str], name: str, reader: Callable[..., object] = str, *valid: object) -> object:
    try:
        return reader(value_of(env, name) or "", *valid)
    except ValueError as error:
        raise ConfigError(f"{name} {error}") from None


def value_of(env: Mapping[str, str], name: str) -> str | None:
    """Returns the value of a variable, or of the file that `NAME_FILE` names; raises `ConfigError` if both are set."""
    file = env.get(f"{name}_FILE")
    if not file:
        return env.get(name) or None
    if env.get(name):
        raise ConfigError(f"{name} and {name}_FILE are both set; set one of them")
    try:
        return Path(file).read_text().strip() or None
    except OSError as error:
        raise ConfigError(f"{name}_FILE: cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise ConfigError(f"{name}_FILE: {file} is not text in UTF-8") from None


def require_setting(value: str | None, variable: str, example: str) -> str:
    """Returns a setting that this process needs; raises a `ConfigError` with the example if it is absent."""
    if value is None:
        raise ConfigError(f"{variable} is not set; set it, for example {variable}={example}")
    return value


def socket_path(listen: str) -> str | None:
    """Returns the path of "unix:/path.sock"; None for "host:port". The address has already been checked."""
    return listen.removeprefix(UNIX_SCHEME) if listen.startswith(UNIX_SCHEME) else None


def split_address(address: str) -> tuple[str, int]:
    """Splits "host:port" into its parts; the address has already been checked."""
    host, _, port = address.rpartition(":")
    return host, int(port)


def is_ipv4(host: str) -> bool:
    """Returns whether a host is an IPv4 address rather than a name."""
    try:
        IPv4Address(host)
    except ValueError:
        return False
    return True
