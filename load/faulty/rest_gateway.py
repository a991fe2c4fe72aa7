"""Faults of the REST gateway."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send

from faulty.access import forget_owner, note
from faulty.calls import IGNORED_EDGE
from faulty.seeds import Fault, replace, set_constant
from rest_gateway import order_related
from shop.platform.http.caching import check_if_match

answer = FastAPI.__call__


# Servers inspect the signature of an application.
async def _note_path(self: FastAPI, scope: Scope, receive: Receive, send: Send) -> None:
    note(scope.get("path"))
    await answer(self, scope, receive, send)


async def _publish(self: FastAPI, scope: Scope, receive: Receive, send: Send) -> None:
    async def send_public(message: Message) -> None:
        headers = [(name, value.replace(b"private", b"public")) for name, value in message.get("headers", ())]
        await send({**message, "headers": headers} if headers else message)

    await answer(self, scope, receive, send_public)


NOTE_PATH = replace(FastAPI.__call__, _note_path)

FAULTS = (
    Fault(
        "customers see other customers' orders",
        "a_customer_sees_its_own_things_only",
        forget_owner(NOTE_PATH, "/v1/orders/"),
    ),
    Fault(
        "related resources are read one by one",
        "includes_user_and_products_in_one_call_each",
        set_constant(order_related, "MAX_IDS", 1),
    ),
    Fault("payments of others are listed", "a_customer_reads_its_own_only", forget_owner(NOTE_PATH, "/v1/payments")),
    Fault(
        "caches may keep personal answers",
        "every_read_says_how_long_it_may_be_kept",
        replace(FastAPI.__call__, _publish),
    ),
    IGNORED_EDGE,
    Fault(
        "a change overwrites somebody else's change",
        "if_match_admits_changes_of_the_last_version",
        replace(check_if_match, lambda if_match, content: None),
    ),
)
