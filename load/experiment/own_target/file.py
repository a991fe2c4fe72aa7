"""The target file, which users write: where the targets are, and what their customers do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from experiment.arguments import duration_s
from experiment.errors import UsageError
from experiment.plan.workload import Arrival, StrictModel
from hops.units import ALL
from mesh.description.topology import MAX_NAME, Channel
from user_files.mistakes import validate
from user_files.yaml_file import Place as Keys
from user_files.yaml_file import YamlFile

METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
BUILT_IN = ("key", "seq")
"""Variables that every journey has."""
NAME = r"^[A-Za-z0-9]+([-_][A-Za-z0-9]+)*$"
Name = Annotated[str, Field(pattern=NAME, max_length=MAX_NAME)]
VARIABLE, POINTER, HEADER = r"^[A-Za-z_][A-Za-z0-9_]*$", r"^(/.*)?$", r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
HTTP = rf"^({METHODS.replace(', ', '|')}) (/[^\s#]*|\$\{{\w+\}})$"
HERE, STORE = "here", r"^(|here|https?://[^\s?#]+)$"
"""Values of `traces`: `HERE` stands for an OTLP endpoint that is open during the run; `STORE` matches valid values."""
PATH, RPC = r"^/[^\s#]*$", r"^[\w.]+/\w+$"
Variable = Annotated[str, Field(pattern=VARIABLE)]
Header = Annotated[str, Field(pattern=HEADER)]
Pointer = Annotated[str, Field(pattern=POINTER)]
"""A JSON Pointer (RFC 6901): `/items/0/id`; empty for the whole answer."""
Port = Annotated[int, Field(ge=1, le=65535)]
MAX_PAUSES_S = 30
"""Maximum sum of a journey's pauses, in seconds."""


class Place(StrictModel):
    """A target's addresses.

    Attributes:
        endpoints: URL of each endpoint, by name: `http://host:port/base`, or `grpc://host:port`; `https` and `grpcs`
            with TLS; `http+unix:/path` and `grpc+unix:/path` for Unix sockets.
        ports: Ports of the target's other processes on this machine; their CPU time counts as the target's.
    """

    endpoints: Annotated[dict[Name, str], Field(min_length=1)]
    ports: tuple[Port, ...] = ()


Version = Annotated[Literal["1.2", "1.3"], BeforeValidator(str)]


class Tls(StrictModel):
    """TLS settings for `https` and `grpcs`: PEM files, relative to the target file; without `ca`, the system's own."""

    ca: str = ""
    certificate: str = ""
    key: str = ""
    min_version: Version = "1.2"
    max_version: Version = "1.3"

    @model_validator(mode="after")
    def _fits(self) -> Tls:
        if bool(self.certificate) != bool(self.key):
            raise ValueError("certificate and key must be given together")
        if self.min_version > self.max_version:
            raise ValueError("min_version is above max_version")
        return self


class Table(StrictModel):
    """A CSV file with a column for each variable.

    Attributes:
        file: Path of the file, relative to the target file.
        take: `once` uses each row for one journey of a tape, `again` restarts after the last row, `random` draws rows.
    """

    file: str
    numbers: tuple[Variable, ...] = ()
    take: Literal["once", "again", "random"] = "once"


class Expect(StrictModel):
    """The expected answer.

    Attributes:
        status: Allowed HTTP status codes; if empty, any code from 200 to 299 is allowed.
        equal: Expected value at each pointer.
        there: Pointers to values that must exist.
        absent: Pointers to values that must be absent or null.
    """

    status: tuple[Annotated[int, Field(ge=100, le=599)], ...] = ()
    code: str = "OK"
    equal: dict[Pointer, Any] = Field(default_factory=dict)
    there: tuple[Pointer, ...] = ()
    absent: tuple[Pointer, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _one_status(cls, given: Any) -> Any:
        if isinstance(given, dict) and isinstance(given.get("status"), int):
            return {**given, "status": [given["status"]]}
        return given


class Source(StrictModel):
    """The part of an answer that becomes a variable: a value at a pointer, a header or a cookie. `match` takes only a
    part of the header or the cookie, or of the body if neither is given.

    Attributes:
        header: Name of a header field, or of gRPC metadata.
        match: Regular expression (RE2) with one group, which selects a part of the header, the cookie or the body.
    """

    pointer: Pointer = ""
    header: Header = ""
    cookie: Header = ""
    match: str = ""

    @model_validator(mode="after")
    def _is_one(self) -> Source:
        chosen = self.model_fields_set - {"match"}
        by = "match" in self.model_fields_set
        if len(chosen) > 1 or not self.model_fields_set or ("pointer" in chosen and by):
            raise ValueError(_ONE_SOURCE)
        if by and not self.match:
            raise ValueError("match is empty: give an expression with one group")
        return self


_ONE_SOURCE = "give a pointer, such as /items/0/id, or one of header and cookie, or match for the body"


def _duration(name: str, lowest: str, highest: str) -> BeforeValidator:
    def read(given: Any) -> float:
        try:
            return duration_s(name, str(given), lowest, highest)
        except UsageError as error:
            raise ValueError(str(error)) from error

    return BeforeValidator(read)


Pause = Annotated[float, _duration("think", "0s", f"{MAX_PAUSES_S}s")]


class Think(StrictModel):
    """A customer's pause before a step, drawn uniformly between `from` and `to`, which are durations in the file."""

    from_s: Pause = Field(alias="from")
    to_s: Pause = Field(alias="to")

    @model_validator(mode="after")
    def _is_range(self) -> Think:
        if self.from_s > self.to_s:
            raise ValueError("from is longer than to")
        return self


def _think(given: Any) -> Any:
    return given if isinstance(given, dict | None) else {"from": given, "to": given}


Thinks = Annotated[Think | None, BeforeValidator(_think)]


def _source(given: Any) -> Any:
    if not isinstance(given, str | dict):
        raise ValueError(_ONE_SOURCE)
    return {"pointer": given} if isinstance(given, str) else given


class Step(StrictModel):
    """A request: `http`, `graphql` or `grpc`.

    Attributes:
        http: Method and path: `GET /products/${id}?page=1`. `GET ${place}` uses a variable unchanged, such as the
            value of a `Location` header.
        graphql: A GraphQL document, which is sent with `variables` to `path`.
        grpc: Full name of a unary or server-streaming method, such as `shop.v1.Products/Get`, called with `message`.
        name: Name of the step in messages; if empty, messages show the request.
        at: Name of the endpoint; not needed if only one endpoint fits.
        body: Body of an HTTP request: JSON or text.
        descriptors: File with a protobuf descriptor set that contains the method, relative to the target file; if
            empty, the server's reflection service is used.
        take: Variables that later steps take from this answer, each with its source; in the file, a source is a
            pointer or a `Source`.
        ignore: Pointers to parts of the answer that vary.
        think: Pause before the step, which does not count as latency; the journey's pause by default.
    """

    http: Annotated[str, Field(pattern=HTTP)] | None = None
    graphql: str | None = None
    grpc: Annotated[str, Field(pattern=RPC)] | None = None
    name: str = ""
    at: str = ""
    headers: dict[Header, str] = Field(default_factory=dict)
    body: Any = None
    path: Annotated[str, Field(pattern=PATH)] = "/graphql"
    variables: dict[str, Any] = Field(default_factory=dict)
    message: dict[str, Any] = Field(default_factory=dict)
    descriptors: str = ""
    expect: Expect = Expect()
    take: dict[Variable, Annotated[Source, BeforeValidator(_source)]] = Field(default_factory=dict)
    ignore: tuple[Pointer, ...] = ()
    think: Thinks = None

    @model_validator(mode="after")
    def _is_one_of_three(self) -> Step:
        if sum(one is not None for one in (self.http, self.graphql, self.grpc)) != 1:
            raise ValueError("needs one of http, graphql and grpc, such as {http: GET /products/1}")
        own = {"http": ("body",), "graphql": ("path", "variables"), "grpc": ("message", "descriptors")}
        for kind, keys in own.items():
            if getattr(self, kind) is None and (idle := [key for key in keys if key in self.model_fields_set]):
                raise ValueError(f"{idle[0]} can only be given with {kind}")
        if idle_check := self.expect.model_fields_set & {"status" if self.grpc else "code"}:
            kinds = "http or graphql" if self.grpc else "grpc"
            raise ValueError(f"expect.{idle_check.pop()} can only be given with {kinds}")
        if fixed := [name for name in self.headers if _FIXED["grpc" if self.grpc else "http"].match(name)]:
            raise ValueError(f"the client itself sets the header {fixed[0]}; leave it out")
        if len({name.lower() for name in self.headers}) < len(self.headers):
            raise ValueError(f"two of the headers {', '.join(self.headers)} differ only in case")
        if taken := [name for name in self.take if name in BUILT_IN]:
            raise ValueError(f"{taken[0]} is a variable that every journey has; choose another name")
        if self.grpc and any(one.cookie or (one.match and not one.header) for one in self.take.values()):
            raise ValueError("take: values can be taken from a gRPC answer only by pointer or header")
        return self


_FIXED = {
    "http": re.compile("(content-length|transfer-encoding|trailer)$", re.IGNORECASE),
    "grpc": re.compile("(host|content-type|user-agent|te|grpc-.*)$", re.IGNORECASE),
}
"""Patterns of the header fields that the load generator's clients always write themselves."""


class Journey(StrictModel):
    """A customer's steps.

    Attributes:
        weight: Frequency of the journey, relative to the sum of all weights.
        table: Name of the table from which every journey of this kind takes a row; empty for no table.
        think: Pause before every step after the first that does not set another pause.
    """

    steps: Annotated[tuple[Step, ...], Field(min_length=1)]
    weight: Annotated[float, Field(ge=0, le=1e6)] = 1.0
    channel: Channel = Channel.WEB
    table: str = ""
    think: Thinks = None

    @model_validator(mode="after")
    def _pauses(self) -> Journey:
        if self.steps[0].think is not None:
            raise ValueError("think is a pause between steps, so the first step cannot have it")
        longest = sum(pause.to_s for pause in self.pauses() if pause)
        if longest > MAX_PAUSES_S:
            raise ValueError(f"the pauses of all steps add up to {longest:g} s; give at most {MAX_PAUSES_S} s")
        return self

    def pauses(self) -> list[Think | None]:
        """Returns the pause before each step."""
        return [None, *(self.think if step.think is None else step.think for step in self.steps[1:])]


class Target(StrictModel):
    """A target file.

    Attributes:
        name: Name of the target, used for results folders.
        networks: Each channel's network, as in a workload file.
        visit: Whether customers' connections are still open from an earlier visit.
        connections: Number of connections to each endpoint; over HTTP/1.1 it limits concurrent requests.
        keep_alive: Whether connections are reused; otherwise each request opens a new connection.
        timeout: Maximum seconds for all steps of a journey together; in the file, a duration such as `5s`.
        otlp: `host:port` of an OTLP receiver over gRPC, which gets the root spans of traced journeys.
        traces: Address of the Jaeger, Tempo or Zipkin that stores the target's spans, or `here` for an OTLP endpoint
            that is open during the run. Empty if the target is not traced.
    """

    name: Name
    targets: Annotated[dict[Name, Place], Field(min_length=1)]
    journeys: Annotated[dict[Name, Journey], Field(min_length=1)]
    about: str = ""
    tables: dict[Name, Table] = Field(default_factory=dict)
    arrival: Arrival = Arrival()
    networks: Any = None
    visit: Literal["warm", "first"] = "warm"
    http: Literal[1, 2] = 1
    connections: Annotated[int, Field(ge=1, le=1024)] = 16
    keep_alive: bool = True
    timeout: Annotated[float, _duration("timeout", "10ms", "30s")] = 5.0
    tls: Tls = Tls()
    otlp: str = ""
    traces: Annotated[str, Field(pattern=STORE)] = ""


@dataclass(frozen=True, slots=True)
class TargetFile:
    """A parsed target file; the files that it names are relative to its path."""

    path: Path
    yaml: YamlFile
    target: Target

    def error(self, problem: str, *where: object) -> Exception:
        """Makes an error that names the line to which the keys lead."""
        return self.yaml.wrong(problem, *where)

    def resolve(self, name: str) -> Path:
        """Returns the path of another file that the target file names."""
        return self.path.parent / Path(name).expanduser()


def read_target(path: Path) -> TargetFile:
    """Reads a target file; raises UsageError, which names the line and the mistake, if the file is not valid."""
    file = YamlFile.read(path, UsageError)
    target = validate(file, Target, lambda pattern: _EXAMPLES.get(pattern, ""))
    if problems := list(_problems(target)):
        raise file.all_wrong(problems)
    return TargetFile(path, file, target)


def _problems(target: Target) -> Iterator[tuple[Keys, str]]:
    yield from ((("arrival", *place), text) for place, text in target.arrival.problems())
    if ALL in target.journeys:
        yield ("journeys", ALL), "is the name of the whole mix; choose another name"
    if not any(journey.weight for journey in target.journeys.values()):
        yield ("journeys",), "all weights are 0"
    if not target.keep_alive and target.networks and target.visit == "warm":
        yield ("keep_alive",), "off needs visit: first, because a warm visit's connections are already open"
    if target.networks and any(
        "+unix:" in url for place in target.targets.values() for url in place.endpoints.values()
    ):
        yield ("networks",), "are emulated only over TCP, but an endpoint is a Unix socket"


_EXAMPLES = {
    NAME: "use letters and digits, with single hyphens or underscores between them",
    HTTP: f"give a method ({METHODS}) and a path, such as GET /products/1",
    RPC: "give package.Service/Method",
    STORE: f"give {HERE}, or the address of a Jaeger, Tempo or Zipkin, such as http://127.0.0.1:16686",
    PATH: "give a path, such as /graphql",
    POINTER: "a pointer begins with /, such as /items/0/id",
    VARIABLE: "give letters, digits and underscores",
    HEADER: "a header's name has no spaces and no colon",
}
