"""Laws of a component's calls, in any language: who may call, what is refused, time limits, and leftovers."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psutil
import psycopg
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from shop.contract.calls import Access
from shop.platform import page_token
from shop.platform.config import EDGE_MARK
from shop.platform.deadline import DEADLINE_HEADER
from shop.user.service import MAX_FAILED_LOGINS

from .components import ComponentContract, Rows, insert_rows
from .conftest import RunningProgram, Start
from .doors import LIMIT_S, ConnectDoor, Door, GrpcDoor, Headers, RestDoor
from .test_process import lock, run_to_end, wait_until_one_waits

OUTSIDE = {EDGE_MARK: "1"}
EDGE = "spiffe://cluster.local/ns/default/sa/edge"
REFUSALS = {"UNAUTHENTICATED", "PERMISSION_DENIED"}
KEPT = 8
"""Number of additional files and threads that many calls may leave; a leak would exceed it."""
Bearer = Callable[..., Headers]


@pytest.fixture
def over_grpc(serving: RunningProgram) -> GrpcDoor:
    if not isinstance(serving.door, GrpcDoor):
        pytest.skip("this is about gRPC")
    return serving.door


def test_health_and_reflection_name_the_service(over_grpc: GrpcDoor) -> None:
    for name in ("", over_grpc.service.full_name):
        request = health_pb2.HealthCheckRequest(service=name)
        answer = health_pb2_grpc.HealthStub(over_grpc.channel).Check(request, timeout=LIMIT_S)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
    ask = reflection_pb2.ServerReflectionRequest(list_services="")
    reflection = reflection_pb2_grpc.ServerReflectionStub(over_grpc.channel)
    answers = reflection.ServerReflectionInfo(iter([ask]), timeout=LIMIT_S)
    listed = [one.name for answer in answers for one in answer.list_services_response.service]
    assert over_grpc.service.full_name in listed


def test_bytes_that_are_no_message_are_refused_by_every_method(over_grpc: GrpcDoor) -> None:
    for name in over_grpc.names:
        assert over_grpc.ask(name, b"\xff\xff\xff").code == "INVALID_ARGUMENT", name


def test_an_empty_request_is_answered_by_every_method(over_grpc: GrpcDoor) -> None:
    for name in over_grpc.names:
        assert over_grpc.ask(name, {}).code in ("", "INVALID_ARGUMENT", "UNAUTHENTICATED"), name


def test_every_method_admits_the_right_callers(
    serving: RunningProgram, contracted: ComponentContract, bearer: Bearer
) -> None:
    door = serving.door
    if not isinstance(door, GrpcDoor | RestDoor | ConnectDoor):
        pytest.skip("a gateway's operations have separate suites")
    customer, partner = OUTSIDE | dict(bearer("customer")), OUTSIDE | dict(bearer("partner"))
    bad = [OUTSIDE | {"authorization": "Bearer x.y.z"}, OUTSIDE | dict(bearer("partner", ttl_s=-60))]
    for name in door.names:

        def refusal_of(headers: Headers, name: str = name) -> str:
            # Only admitted callers learn what is wrong with a request; a wrong password has a separate error.
            code = door.ask(name, b"\xff" if isinstance(door, GrpcDoor) or name == "Login" else {}, headers).code
            return code if code in REFUSALS else ""

        access = contracted.access[name]
        nobody = {Access.EVERYBODY: "", Access.INTERNAL: "PERMISSION_DENIED"}.get(access, "UNAUTHENTICATED")
        assert [refusal_of(headers) for headers in (OUTSIDE, *bad)] == [nobody] * 3, name
        if access in (Access.PARTNER, Access.INTERNAL):
            assert refusal_of(customer) == "PERMISSION_DENIED", name
        assert refusal_of(partner) == ("PERMISSION_DENIED" if access is Access.INTERNAL else ""), name
        assert refusal_of({}) == "", f"{name}, from inside"


def test_a_customers_things_are_closed_to_others(
    serving: RunningProgram, contracted: ComponentContract, rows: Rows, bearer: Bearer
) -> None:
    if not contracted.owned:
        pytest.skip(f"nothing of {contracted.component} belongs to a customer")
    for call, refusal in contracted.owned:
        for number, code in ((rows.user + 1_000, refusal), (rows.user, "")):
            headers = OUTSIDE | dict(bearer("customer", number))
            answer = serving.door.ask(call.name, call.content(rows), headers)
            assert answer.code == code, f"{call.name} by {'its owner' if not code else 'another customer'}: {answer}"


@pytest.mark.usefixtures("same_code")
def test_with_certificates_the_identity_tells_inside_from_outside(
    start: Start, settings: dict[str, str], contracted: ComponentContract, rows: Rows, allowed: Headers
) -> None:
    def by(identity: str) -> Headers:
        return {"x-forwarded-client-cert": f'Hash=00;Subject="CN=x, O=y";URI={identity}'}

    read = contracted.read
    inside = next((name for name, access in contracted.access.items() if access is not Access.EVERYBODY), "")
    with start(settings | {"SHOP_EDGE_IDENTITY": EDGE}) as program:
        program.wait_until_serving()
        for nobody in ({}, by("spiffe://elsewhere/ns/default/sa/order"), OUTSIDE):
            answer = program.door.ask(read.name, read.content(rows), {**allowed, **nobody})
            assert answer.code == "UNAUTHENTICATED", answer
        if inside:
            assert program.door.ask(inside, {}, by(EDGE)).code in REFUSALS
            assert program.door.ask(inside, {}, by(EDGE.replace("edge", "order"))).code not in REFUSALS
        mesh = by(EDGE if contracted.is_gateway else EDGE.replace("edge", "order"))
        assert program.door.ask(read.name, read.content(rows), {**allowed, **mesh}).code == ""


@pytest.mark.usefixtures("same_code")
def test_a_port_in_use_ends_it(
    start: Start, minimal: dict[str, str], contracted: ComponentContract, serving: RunningProgram
) -> None:
    code, said = run_to_end(start, minimal | {contracted.listens: serving.target})
    assert code == 1, said
    assert serving.target in said
    assert serving.door.serves()


def test_errors_have_their_code_and_field(
    serving: RunningProgram, contracted: ComponentContract, rows: Rows, allowed: Headers
) -> None:
    call, field = contracted.wrong
    wrong = serving.door.ask(call.name, call.content(rows), allowed)
    assert (wrong.code, wrong.field) == ("INVALID_ARGUMENT", field)
    missing = contracted.missing
    assert serving.door.ask(missing.name, missing.content(rows), allowed).code == "NOT_FOUND"


def test_a_read_mask_chooses_fields(
    over_grpc: GrpcDoor, contracted: ComponentContract, rows: Rows, allowed: Headers
) -> None:
    name, content = contracted.read.name, contracted.read.content(rows)
    if "read_mask" not in over_grpc.service.methods_by_name[name].input_type.fields_by_name:
        pytest.skip(f"{name} has no mask")
    whole = over_grpc.ask(name, content, allowed).body
    assert over_grpc.ask(name, content | {"readMask": "*"}, allowed).body == whole
    some = over_grpc.ask(name, content | {"readMask": "id"}, allowed).body
    assert [(field.name, value) for field, value in some.ListFields()] == [("id", whole.id)]
    unknown = over_grpc.ask(name, content | {"readMask": "id,secret"}, allowed)
    assert (unknown.code, unknown.field) == ("INVALID_ARGUMENT", "read_mask")


def test_too_many_requests_get_a_time_to_retry(over_grpc: GrpcDoor, contracted: ComponentContract) -> None:
    if contracted.component != "user":
        pytest.skip("only logins are counted")
    wrong = {"email": f"{uuid.uuid4().hex}@example.com", "password": "a wrong password"}
    *_, last = (over_grpc.ask("Login", wrong) for _ in range(MAX_FAILED_LOGINS + 1))
    assert (last.code, last.retry_s > 0) == ("TOO_MANY_REQUESTS", True), (
        f"the last Login of {MAX_FAILED_LOGINS + 1}: {last}"
    )


LISTS = {
    "product": ("ListProducts", "ListProducts:contract", {"category": "contract"}, "products", "product"),
    "user": ("ListUsers", "ListUsers", {}, "users", "user"),
    "order": ("ListOrdersByUser", "ListOrdersByUser:%s", {}, "orders", "order"),
}
"""For services with lists: the method, the scope of its tokens, its filter, and its items."""


def test_a_page_token_of_another_implementation_works(
    over_grpc: GrpcDoor, contracted: ComponentContract, admin: psycopg.Connection, rows: Rows
) -> None:
    if contracted.component not in LISTS:
        pytest.skip(f"{contracted.component} has no lists")
    name, scope, asked, listed, which = LISTS[contracted.component]
    if which == "order":
        scope, asked = scope % rows.user, {"userId": rows.user}
    insert_rows(admin)
    first = over_grpc.ask(name, {"pageSize": 1, **asked}).body
    (seen,) = (one.id for one in getattr(first, listed))
    assert page_token.decode(first.next_page_token, scope) == seen
    again = over_grpc.ask(name, {"pageSize": 1, "pageToken": page_token.encode(scope, seen), **asked}).body
    assert [one.id for one in getattr(again, listed)] not in ([], [seen])
    for made_up in ("bm9wZQ", first.next_page_token + "x", page_token.encode("another", seen)):
        assert over_grpc.ask(name, {"pageToken": made_up, **asked}).code == "INVALID_PAGE_TOKEN"


def test_work_ends_with_the_time_that_the_edge_waits(
    serving: RunningProgram, contracted: ComponentContract, admin: psycopg.Connection, rows: Rows, allowed: Headers
) -> None:
    held, connections = contracted.held, connections_of(admin, contracted)
    with ThreadPoolExecutor(1) as other:
        with admin.transaction():
            lock(admin, contracted, rows)
            longer = {**allowed, DEADLINE_HEADER: "15000"}
            patient = other.submit(serving.door.ask, held.name, held.content(rows), longer)
            wait_until_one_waits(admin, patient)
            for _ in range(3):  # more calls than there are connections
                late = serving.door.ask(held.name, held.content(rows), {**allowed, DEADLINE_HEADER: "300"})
                assert late.code == "DEADLINE_EXCEEDED"
            wait_until_one_waits(admin, patient)
            assert not patient.done(), "who waits longer is answered first"
        assert patient.result(timeout=LIMIT_S).code == ""
    assert connections <= connections_of(admin, contracted), "a late call has cost its connection"


def connections_of(admin: psycopg.Connection, contracted: ComponentContract) -> set[int]:
    """Returns the processes of PostgreSQL that serve the component, or the service behind a gateway."""
    role, _, _ = contracted.table[0].partition(".")
    return {pid for (pid,) in admin.execute("SELECT pid FROM pg_stat_activity WHERE usename = %s", [role])}


# A body that nobody reads must not keep its refusal waiting either.
@pytest.mark.parametrize(("kind", "status"), [("application/json", 408), ("text/plain", 415)])
def test_a_body_that_does_not_come_is_given_up(
    serving: RunningProgram, contracted: ComponentContract, kind: str, status: int
) -> None:
    if isinstance(serving.door, GrpcDoor | ConnectDoor):
        pytest.skip("libraries of gRPC and Connect read messages, and the edge forwards only whole ones")
    path = {"graphql-gateway": "/graphql", "rest-gateway": "/v1/sessions"}.get(contracted.component, "/v1/products")
    host, _, port = serving.target.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=LIMIT_S) as client:
        headers = f"host: gateway\r\ncontent-type: {kind}\r\ncontent-length: 9\r\n{DEADLINE_HEADER}: 300"
        client.sendall(f"POST {path} HTTP/1.1\r\n{headers}\r\n\r\n{{".encode())
        assert client.recv(1000).startswith(f"HTTP/1.1 {status} ".encode())


def test_many_calls_and_clients_leave_nothing_open(
    serving: RunningProgram, contracted: ComponentContract, rows: Rows, allowed: Headers
) -> None:
    read, missing = contracted.read, contracted.missing

    def use(door: Door, calls: int) -> None:
        for _ in range(calls):
            assert door.ask(read.name, read.content(rows), allowed).code == ""
            assert door.ask(missing.name, missing.content(rows), allowed).code == "NOT_FOUND"

    use(serving.door, 50)
    files, threads = held_by(serving.process.pid)
    for _ in range(4 * KEPT):
        newcomer = contracted.door(serving.target)
        use(newcomer, 3)
        newcomer.close()
    use(serving.door, 5 * KEPT)
    for _ in range(100):
        more_files, more_threads = held_by(serving.process.pid)
        if more_files <= files + KEPT and more_threads <= threads + KEPT:
            return
        use(serving.door, 1)
    raise AssertionError(f"open files: {files} before, {more_files} after; threads: {threads}, {more_threads}")


def held_by(pid: int) -> tuple[int, int]:
    """Counts the open files and the threads of a process and of everything that it has started."""
    process = psutil.Process(pid)
    family = [process, *process.children(recursive=True)]
    return sum(one.num_fds() for one in family), sum(one.num_threads() for one in family)
