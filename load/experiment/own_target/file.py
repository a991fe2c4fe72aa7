"""The target file: where the targets are, and what their customers do, as people write it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from experiment.arguments import duration_s
from experiment.errors import UsageError
from experiment.plan.workload import Arrival
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
"""Stands for an OTLP endpoint that is open during the run; and what may stand there."""
PATH, RPC = r"^/[^\s#]*$", r"^[\w.]+/\w+$"
Variable = Annotated[str, Field(pattern=VARIABLE)]
Header = Annotated[str, Field(pattern=HEADER)]
Pointer = Annotated[str, Field(pattern=POINTER)]
"""A JSON Pointer (RFC 6901): `/items/0/id`; empty for the whole answer."""
Port = Annotated[int, Field(ge=1, le=65535)]
MIN_TIMEOUT, MAX_TIMEOUT = "10ms", "30s"
MAX_PAUSES_S = 30
"""Of one journey, all together."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Place(_Part):
    """One target.

    Attributes:
        endpoints: URL of each entrance, by name: `http://host:port/base`, or `grpc://host:port`; `https` and `grpcs`
            with TLS; `http+unix:/path` and `grpc+unix:/path` for Unix sockets.
        ports: Ports of its other processes on this machine, whose CPU counts as the target's.
    """

    endpoints: Annotated[dict[Name, str], Field(min_length=1)]
    ports: tuple[Port, ...] = ()


Version = Annotated[Literal["1.2", "1.3"], BeforeValidator(str)]


class Tls(_Part):
    """How `https` and `grpcs` are spoken; paths are from the target file on, and files are in PEM form.

    Attributes:
        ca: Certificates that are trusted; the system's if empty.
        certificate: The client's certificate, which servers are shown.
        key: Its private key.
        min_version: Lowest version.
        max_version: Highest version.
    """

    ca: str = ""
    certificate: str = ""
    key: str = ""
    min_version: Version = "1.2"
    max_version: Version = "1.3"

    @model_validator(mode="after")
    def _fits(self) -> Tls:
        if bool(self.certificate) != bool(self.key):
            raise ValueError("certificate and key go together; give both")
        if self.min_version > self.max_version:
            raise ValueError("min_version is above max_version")
        return self


class Table(_Part):
    """A CSV file with a column for each variable.

    Attributes:
        file: Its path, from the target file on.
        numbers: Columns whose values are numbers.
        take: `once` gives each row to one journey of a tape, `again` begins anew after the last, `random` draws.
    """

    file: str
    numbers: tuple[Variable, ...] = ()
    take: Literal["once", "again", "random"] = "once"


class Expect(_Part):
    """What an answer must be.

    Attributes:
        status: HTTP statuses; any from 200 to 299 if empty.
        code: Code of gRPC.
        equal: Value at each pointer.
        there: Pointers to what must be there.
        absent: Pointers to what must not be there, or be null.
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


class Source(_Part):
    """Where of an answer a variable comes from: a pointer, or one of the others; `match` alone is of the body's text.

    Attributes:
        pointer: To a value of the JSON.
        header: Name of a header, or of metadata of gRPC.
        cookie: Name of a cookie that is set.
        match: Regular expression (RE2) with one group, which is taken of a header, a cookie, or the body.
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


def _pause(given: Any) -> float:
    try:
        return duration_s("think", str(given), "0s", f"{MAX_PAUSES_S}s")
    except UsageError as error:
        raise ValueError(str(error)) from error


Pause = Annotated[float, BeforeValidator(_pause)]


class Think(_Part):
    """How long a customer waits before a step: any time between two is as likely.

    Attributes:
        from_s: The shortest, s; in the file a duration, as the longest.
        to_s: The longest, s.
    """

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


class Step(_Part):
    """One request: `http`, `graphql` or `grpc`.

    Attributes:
        http: Method and path: `GET /products/${id}?page=1`; `GET ${place}` has a variable as it stands, such as a
            `Location`.
        graphql: A document, which is sent with `variables` to `path`.
        grpc: Full name of a method with one answer or a stream of them: `shop.v1.Products/Get`, sent with `message`.
        name: Its name in messages; what it sends if empty.
        at: Name of the endpoint; may be left out if only one fits.
        body: JSON, or a text, of an HTTP request.
        descriptors: Set of protobuf descriptors that has the method, a file from the target file on; the server is
            asked by reflection if it is left out.
        take: Variables that later steps get from the answer, and where each is; in the file a pointer, or a `Source`.
        ignore: Pointers to what of the answer is not the same each time.
        think: Pause before the step, which is no latency; the journey's if it is left out.
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
                raise ValueError(f"{idle[0]} goes with {kind}")
        if idle_check := self.expect.model_fields_set & {"status" if self.grpc else "code"}:
            raise ValueError(f"expect.{idle_check.pop()} goes with {'http and graphql' if self.grpc else 'grpc'}")
        if fixed := [name for name in self.headers if _FIXED["grpc" if self.grpc else "http"].match(name)]:
            raise ValueError(f"the header {fixed[0]} is the client's own")
        if len({name.lower() for name in self.headers}) < len(self.headers):
            raise ValueError(f"two of the headers {', '.join(self.headers)} are the same but for their case")
        if taken := [name for name in self.take if name in BUILT_IN]:
            raise ValueError(f"every journey has a variable {taken[0]}; take another name")
        if self.grpc and any(one.cookie or (one.match and not one.header) for one in self.take.values()):
            raise ValueError("take: of gRPC's answers there are pointers and headers")
        return self


_FIXED = {
    "http": re.compile("(content-length|transfer-encoding|trailer)$", re.IGNORECASE),
    "grpc": re.compile("(host|content-type|user-agent|te|grpc-.*)$", re.IGNORECASE),
}
"""Headers that the clients write themselves, whatever they are told."""


class Journey(_Part):
    """What one customer does.

    Attributes:
        weight: How often it comes, against the sum of all weights.
        channel: By which its customer's network is chosen.
        table: Name of the table of whose rows it takes one; empty for none.
        think: Pause between its steps, unless a step has its own.
    """

    steps: Annotated[tuple[Step, ...], Field(min_length=1)]
    weight: Annotated[float, Field(ge=0, le=1e6)] = 1.0
    channel: Channel = Channel.WEB
    table: str = ""
    think: Thinks = None

    @model_validator(mode="after")
    def _pauses(self) -> Journey:
        if self.steps[0].think is not None:
            raise ValueError("think lies between steps, and nothing comes before the first step")
        longest = sum(pause.to_s for pause in self.pauses() if pause)
        if longest > MAX_PAUSES_S:
            raise ValueError(f"think is up to {longest:g} s, all steps together; give at most {MAX_PAUSES_S} s")
        return self

    def pauses(self) -> list[Think | None]:
        """The pause before each step."""
        return [None, *(self.think if step.think is None else step.think for step in self.steps[1:])]


def _seconds(given: Any) -> float:
    try:
        return duration_s("timeout", str(given), MIN_TIMEOUT, MAX_TIMEOUT)
    except UsageError as error:
        raise ValueError(str(error)) from error


class Target(_Part):
    """A target file.

    Attributes:
        name: Its name, which folders of results have.
        about: One sentence about it.
        targets: What is loaded, by name; several are compared.
        journeys: What customers do, by name.
        tables: Variables from CSV files, by name.
        arrival: How customers arrive, as in a workload file.
        networks: Each channel's network, as in a workload file.
        visit: Whether customers' connections are open from an earlier visit.
        http: Version that HTTP clients speak.
        connections: Connections to each endpoint; over HTTP/1.1 no more requests are under way.
        keep_alive: Whether connections are kept; otherwise each request opens its own.
        timeout: Seconds that a journey may take, all its steps together; in the file a duration, such as `5s`.
        tls: For `https` and `grpcs`.
        otlp: `host:port` of an OTLP receiver over gRPC, which gets the roots of traced journeys.
        traces: Address of the Jaeger, Tempo or Zipkin that has the target's spans, or `here` for an OTLP endpoint that
            is open during the run. It is empty if the target is not traced.
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
    timeout: Annotated[float, BeforeValidator(_seconds)] = 5.0
    tls: Tls = Tls()
    otlp: str = ""
    traces: Annotated[str, Field(pattern=STORE)] = ""


@dataclass(frozen=True, slots=True)
class TargetFile:
    """A target file that was read.

    Attributes:
        path: Where it is; its other files are named from there on.
        yaml: What it says.
        target: The same, checked.
    """

    path: Path
    yaml: YamlFile
    target: Target

    def error(self, problem: str, *where: object) -> Exception:
        """What is wrong with it, with the line of what the keys lead to."""
        return self.yaml.wrong(problem, *where)

    def beside(self, name: str) -> Path:
        """The path of a file that it names."""
        return self.path.parent / Path(name).expanduser()


def read_target(path: Path) -> TargetFile:
    """Reads a target file.

    Raises:
        UsageError: It is no target file; names the line and what is wrong.
    """
    file = YamlFile.read(path, UsageError)
    target = validate(file, Target, lambda pattern: _EXAMPLES.get(pattern, ""))
    if problems := list(_problems(target)):
        raise file.all_wrong(problems)
    return TargetFile(path, file, target)


def _problems(target: Target) -> Iterator[tuple[Keys, str]]:
    yield from ((("arrival", *place), text) for place, text in target.arrival.problems())
    if not any(journey.weight for journey in target.journeys.values()):
        yield ("journeys",), "all weights are 0"
    if not target.keep_alive and target.networks and target.visit == "warm":
        yield ("keep_alive",), "off needs visit: first, as the connections of a warm visit are open from before"
    if target.networks and any(
        "+unix:" in url for place in target.targets.values() for url in place.endpoints.values()
    ):
        yield ("networks",), "are emulated for TCP, and an endpoint is a Unix socket"


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
