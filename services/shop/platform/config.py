"""The settings of one process, read once from its environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from types import MappingProxyType
from urllib.parse import urlsplit

from shop.instrument.switch import TRACINGS
from shop.platform.errors import ConfigError
from shop.platform.page_token import DEFAULT_KEY
from shop.variables import value_of

NOTIFICATION = "notification"
CORE = ("product", "order", "user", "payment")
"""The services that every shop has."""
PEERS = (*CORE, NOTIFICATION)
COMPONENTS = (*PEERS, "product-canary", "graphql-gateway", "rest-gateway")
PEER_SCHEMES = ("grpc", "http", "graphql", "thrift", "thrift-json")
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
SWITCH = ("on", "off")
STORES = ("postgres", "memory")
CONTRACT = "1"
"""Version of what a component is told and does; a program in place of ours is told which one is asked of it."""
DEFAULT_POOL = 8
LARGEST_POOL = 200
DEFAULT_CACHE_BOUND_MS = 60_000
CACHE_BOUNDS_MS = (1_000, 3_600_000)
DEFAULT_CACHE_LIMIT_MS = 10
LONGEST_CACHE_LIMIT_MS = 10_000
LONGEST_BANK_DELAY_MS = 60_000
LONGEST_DELAY_US = 1_000_000
SELDOMEST_HOLD = 1_000_000
LONGEST_DRAIN_S = 60
LONGEST_CONNECTION_AGE_S = 3_600
UNIX_SCHEME = "unix:"
EDGE_MARK = "x-hopwise-edge"
"""The header with which the edge marks what comes from outside, whether or not callers also have identities; its value
is the client's address."""
# What the kernel's address of a socket has room for.
LONGEST_SOCKET_PATH = 107


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """The settings of one process.

    Attributes:
        component: Which of `COMPONENTS` this process is; its service.name in traces.
        instance: Name of this process among the component's replicas, its service.instance.id in traces, such as
            "order-2"; None if nobody has named it.
        listen_grpc: "host:port", or "unix:" and the path of a socket, to serve gRPC on; None for no gRPC.
        listen_rest: The same for REST.
        listen_graphql: The same for GraphQL.
        listen_thrift: The same for framed Thrift.
        listen_thrift_entrance: The same for framed Thrift, for callers that all are clients: no edge marks their calls.
        listen_thrift_json: The same for Thrift's TJSON over HTTP.
        listen_http: The same for a gateway; None in a service.
        listen_metrics: "host:port" to serve metrics on; None to measure nothing.
        database_url: PostgreSQL URL; None in a gateway.
        database_pool: Connections to keep open.
        store: Where a service keeps its data: in the database, or in memory that is filled from it at the start.
        cache_url: Valkey URL of the cache in front of the database; None for no cache.
        cache_namespace: First part of every key in the cache.
        cache_bound_ms: How long the cache may return what has been changed, in ms, if it could not be told.
        cache_limit_ms: How long a request waits for an answer of the cache, in ms.
        peers: Address of each service that this process calls, by name: "grpc://127.0.0.1:18020", or those of its
            replicas: "grpc://127.0.0.1:18020,127.0.1.1:18020".
        sockets: Path of the Unix domain socket that calls of a service go to in place of its address, by name; a
            service without one is connected at its address.
        otlp_endpoint: Where spans go, "http://127.0.0.1:18070"; None for no telemetry.
        tracing: What records the spans, one of `TRACINGS`.
        telemetry_folder: Folder of the file in which this process accounts for its spans; None for no such file.
        topology: Name of the topology that runs; empty if unknown.
        trial: Id of the trial that runs; empty if unknown.
        jwt_public_key_file: PEM file to verify tokens with.
        jwt_private_key_file: PEM file to sign tokens with; the user service only.
        bank_delay_ms: How long the simulated bank takes, in milliseconds.
        delay_us: How long every request is delayed before its work, in microseconds; 0 except for a proof.
        hold_us: How long requests keep the event loop busy, in microseconds; 0 except for a proof.
        hold_every: At each how manieth request.
        admission: Whether requests are refused where the process does not keep up.
        drain_s: How long HTTP clients have to leave before the process ends, in seconds; 0 where none would be left.
        connection_age_s: After how long gRPC clients are told to connect anew, and so to look for further replicas, in
            seconds; 0 for never.
        edge_identity: SPIFFE ID of the edge, whose calls come from outside; None where callers have no identity.
        page_token_key: Key of the page tokens.
        await_stdin: Whether the process, once it has imported what it needs, waits until its standard input ends.
        log_level: Least severe level that is logged.
        graphql_loaders: Whether the GraphQL gateway batches its reads; off is the naive variant.
        reflection: Names of the components whose services gRPC reflection lists in addition to this process's.
        graphiql: Folder of GraphiQL's files; None for a `/graphql` that shows browsers how to get them.
    """

    component: str
    instance: str | None = None
    listen_grpc: str | None = None
    listen_rest: str | None = None
    listen_graphql: str | None = None
    listen_thrift: str | None = None
    listen_thrift_entrance: str | None = None
    listen_thrift_json: str | None = None
    listen_http: str | None = None
    listen_metrics: str | None = None
    database_url: str | None = None
    database_pool: int = DEFAULT_POOL
    store: str = "postgres"
    cache_url: str | None = None
    cache_namespace: str = "shop"
    cache_bound_ms: int = DEFAULT_CACHE_BOUND_MS
    cache_limit_ms: int = DEFAULT_CACHE_LIMIT_MS
    peers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    sockets: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    otlp_endpoint: str | None = None
    tracing: str = "lean"
    telemetry_folder: str | None = None
    topology: str = ""
    trial: str = ""
    jwt_public_key_file: str | None = None
    jwt_private_key_file: str | None = None
    bank_delay_ms: int = 0
    delay_us: int = 0
    hold_us: int = 0
    hold_every: int = 1
    admission: bool = False
    drain_s: int = 0
    connection_age_s: int = 0
    edge_identity: str | None = None
    page_token_key: bytes = DEFAULT_KEY
    await_stdin: bool = False
    log_level: str = "INFO"
    graphql_loaders: bool = True
    reflection: tuple[str, ...] = ()
    graphiql: str | None = None

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> ServiceConfig:
        """Reads the settings from an environment; URLs and keys may lie in the files that `NAME_FILE` names.

        Args:
            env: The variables; empty ones count as absent.

        Raises:
            ConfigError: A variable is missing or not valid.
        """
        peers = {name: _peer(env, name) for name in PEERS if env.get(f"SHOP_PEER_{name.upper()}")}
        sockets = {name: _socket(env, name) for name in PEERS if env.get(f"SHOP_SOCKET_{name.upper()}")}
        page_token_key = _value(env, "SHOP_PAGE_TOKEN_KEY")
        _choice(env, "SHOP_CONTRACT", (CONTRACT,), CONTRACT)
        return cls(
            component=_choice(env, "SHOP_COMPONENT", COMPONENTS, None),
            instance=env.get("SHOP_INSTANCE") or None,
            listen_grpc=_address(env, "SHOP_LISTEN_GRPC"),
            listen_rest=_address(env, "SHOP_LISTEN_REST"),
            listen_graphql=_address(env, "SHOP_LISTEN_GRAPHQL"),
            listen_thrift=_address(env, "SHOP_LISTEN_THRIFT"),
            listen_thrift_entrance=_address(env, "SHOP_LISTEN_THRIFT_ENTRANCE"),
            listen_thrift_json=_address(env, "SHOP_LISTEN_THRIFT_JSON"),
            listen_http=_address(env, "SHOP_LISTEN_HTTP"),
            listen_metrics=_port(env, "SHOP_LISTEN_METRICS"),
            database_url=_url(env, "SHOP_DATABASE_URL", ("postgresql", "postgres")),
            database_pool=_whole(env, "SHOP_DATABASE_POOL", DEFAULT_POOL, 1, LARGEST_POOL),
            store=_choice(env, "SHOP_STORE", STORES, "postgres"),
            cache_url=_url(env, "SHOP_CACHE_URL", ("valkey", "redis")),
            cache_namespace=env.get("SHOP_CACHE_NAMESPACE") or "shop",
            cache_bound_ms=_whole(env, "SHOP_CACHE_BOUND_MS", DEFAULT_CACHE_BOUND_MS, *CACHE_BOUNDS_MS),
            cache_limit_ms=_whole(env, "SHOP_CACHE_LIMIT_MS", DEFAULT_CACHE_LIMIT_MS, 1, LONGEST_CACHE_LIMIT_MS),
            peers=MappingProxyType(peers),
            sockets=MappingProxyType(sockets),
            otlp_endpoint=_url(env, "OTEL_EXPORTER_OTLP_ENDPOINT", ("http", "https")),
            tracing=_choice(env, "SHOP_TRACING", TRACINGS, "lean"),
            telemetry_folder=env.get("SHOP_TELEMETRY_FOLDER") or None,
            topology=env.get("SHOP_TOPOLOGY", ""),
            trial=env.get("SHOP_TRIAL", ""),
            jwt_public_key_file=env.get("SHOP_JWT_PUBLIC_KEY_FILE") or None,
            jwt_private_key_file=env.get("SHOP_JWT_PRIVATE_KEY_FILE") or None,
            bank_delay_ms=_whole(env, "SHOP_BANK_DELAY_MS", 0, 0, LONGEST_BANK_DELAY_MS),
            delay_us=_whole(env, "SHOP_DELAY_US", 0, 0, LONGEST_DELAY_US),
            hold_us=_whole(env, "SHOP_HOLD_US", 0, 0, LONGEST_DELAY_US),
            hold_every=_whole(env, "SHOP_HOLD_EVERY", 1, 1, SELDOMEST_HOLD),
            admission=_choice(env, "SHOP_ADMISSION", SWITCH, "off") == "on",
            drain_s=_whole(env, "SHOP_DRAIN_S", 0, 0, LONGEST_DRAIN_S),
            connection_age_s=_whole(env, "SHOP_CONNECTION_AGE_S", 0, 0, LONGEST_CONNECTION_AGE_S),
            edge_identity=env.get("SHOP_EDGE_IDENTITY") or None,
            page_token_key=page_token_key.encode() if page_token_key else DEFAULT_KEY,
            await_stdin=_choice(env, "SHOP_AWAIT_STDIN", SWITCH, "off") == "on",
            log_level=_choice(env, "SHOP_LOG_LEVEL", LOG_LEVELS, "INFO"),
            graphql_loaders=_choice(env, "SHOP_GRAPHQL_LOADERS", SWITCH, "on") == "on",
            reflection=_peers(env, "SHOP_REFLECTION"),
            graphiql=env.get("SHOP_GRAPHIQL") or None,
        )


def required(value: str | None, variable: str, example: str) -> str:
    """Returns a setting that this process cannot do without.

    Args:
        value: The setting as read.
        variable: The variable of the environment that it comes from.
        example: A valid value, for the message.

    Raises:
        ConfigError: The setting is absent.
    """
    if value is None:
        raise ConfigError(f"{variable} is not set; set it, for example {variable}={example}")
    return value


def socket_path(listen: str) -> str | None:
    """Returns the path of "unix:/path.sock"; None for "host:port". The address has been checked before."""
    return listen.removeprefix(UNIX_SCHEME) if listen.startswith(UNIX_SCHEME) else None


def split_address(address: str) -> tuple[str, int]:
    """Splits "host:port" into its parts; the address has been checked before."""
    host, _, port = address.rpartition(":")
    return host, int(port)


def is_ipv4(host: str) -> bool:
    """Whether a host is an IPv4 address, and not a name."""
    try:
        IPv4Address(host)
    except ValueError:
        return False
    return True


def _choice(env: Mapping[str, str], name: str, valid: tuple[str, ...], default: str | None) -> str:
    value = env.get(name) or default
    if value not in valid:
        raise ConfigError(f"{name} is {value or 'not set'}; valid: {', '.join(valid)}")
    return value


def _peers(env: Mapping[str, str], name: str) -> tuple[str, ...]:
    named = tuple(filter(None, env.get(name, "").split(",")))
    for peer in named:
        if peer not in PEERS:
            raise ConfigError(f"{name} names {peer!r}; valid: {', '.join(PEERS)}, with commas between them")
    return named


def _whole(env: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    text = env.get(name) or str(default)
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        raise ConfigError(f"{name} is {text!r}; valid: an integer from {least} to {most}")
    return int(text)


def _address(env: Mapping[str, str], name: str) -> str | None:
    text = env.get(name)
    if not text:
        return None
    path = socket_path(text)
    if path is not None:
        _require_socket_path(path, name, text)
        return text
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ConfigError(
            f"{name} is {text!r}; valid: host:port with a port from 0 to 65535, as 127.0.0.1:18020, "
            "or unix:/absolute/path.sock"
        )
    return text


def _port(env: Mapping[str, str], name: str) -> str | None:
    address = _address(env, name)
    if address is not None and socket_path(address) is not None:
        raise ConfigError(f"{name} is {address!r}; valid: host:port, as 127.0.0.1:18026")
    return address


def _require_socket_path(path: str, name: str, text: str) -> None:
    size = len(os.fsencode(path))
    if not path.startswith("/"):
        raise ConfigError(f"{name} is {text!r}; the socket's path must be absolute, as /run/shop/product.sock")
    if size > LONGEST_SOCKET_PATH:
        raise ConfigError(
            f"{name} is {text!r}; the socket's path has {size} bytes and must have at most {LONGEST_SOCKET_PATH}"
        )
    # gRPC takes a comma for the end of one address and the beginning of the next.
    if "," in path:
        raise ConfigError(f"{name} is {text!r}; the socket's path must not contain a comma")


def _value(env: Mapping[str, str], name: str) -> str | None:
    try:
        return value_of(env, name)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def _url(env: Mapping[str, str], name: str, schemes: tuple[str, ...]) -> str | None:
    text = _value(env, name)
    if text is None:
        return None
    if not _is_url(text, schemes):
        # The value itself stays out of the message: it may hold a password.
        raise ConfigError(f"{name} is not valid; valid: a URL with a host and the scheme {' or '.join(schemes)}")
    return text


def _peer(env: Mapping[str, str], peer: str) -> str:
    name = f"SHOP_PEER_{peer.upper()}"
    text = env[name]
    scheme, _, places = text.partition("://")
    if not all(_is_url(url, PEER_SCHEMES) and urlsplit(url).port for url in _each(scheme, places)):
        schemes = ", ".join(f"{scheme}://host:port" for scheme in PEER_SCHEMES)
        raise ConfigError(f"{name} is {text!r}; valid: {schemes}, with commas between the places of several replicas")
    if "," in places and not all(is_ipv4(urlsplit(url).hostname or "") for url in _each(scheme, places)):
        raise ConfigError(
            f"{name} is {text!r}; the places of several replicas must be IPv4 addresses, as "
            f"{scheme}://127.0.0.1:18020,127.0.1.1:18020"
        )
    return text


def _socket(env: Mapping[str, str], peer: str) -> str:
    name = f"SHOP_SOCKET_{peer.upper()}"
    path = env[name]
    _require_socket_path(path, name, path)
    address = f"SHOP_PEER_{peer.upper()}"
    if not env.get(address):
        raise ConfigError(f"{name} is {path!r}, but {address} is not set; it says how to call what the socket leads to")
    if "," in env[address]:
        raise ConfigError(f"{name} is {path!r}, but {address} has several places; a socket leads to one")
    return path


def _each(scheme: str, places: str) -> list[str]:
    return [f"{scheme}://{place}" for place in places.split(",")]


def _is_url(text: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
