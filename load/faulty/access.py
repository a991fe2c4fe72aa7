"""Faults of access control: a component allows a caller more than it should."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import grpc.aio

from faulty.seeds import Seed, change_arguments, replace, seed_all
from shop.contract.calls import Access
from shop.platform.access.rules import Authenticator, Caller

CALLED: ContextVar[str] = ContextVar("faulty.called", default="")
"""Method, path or document of the current call."""

may_act_for = Caller.may_act_for


class _NoteMethod(grpc.aio.ServerInterceptor):
    async def intercept_service(
        self, continuation: Callable[[grpc.HandlerCallDetails], Any], handler_call_details: grpc.HandlerCallDetails
    ) -> Any:
        CALLED.set(handler_call_details.method)
        return await continuation(handler_call_details)


NOTE_METHOD = change_arguments(grpc.aio.server, interceptors=lambda given: [*(given or ()), _NoteMethod()])
"""Records the method of each call over gRPC."""


def admit(method: str, access: Access) -> Seed:
    """Changes the rule for which callers may call a method over gRPC."""

    def change(rule: Access) -> Access:
        return access if CALLED.get().endswith(f"/{method}") else rule

    return seed_all(NOTE_METHOD, change_arguments(Authenticator.admit, access=change))


def forget_owner(note: Seed, call: str) -> Seed:
    """Lets every caller of a method, path or document act for all users.

    Args:
        note: Records the calls of the component.
        call: Text that occurs only in this method, path or document.
    """
    return seed_all(
        note, replace(Caller.may_act_for, lambda self, user_id: call in CALLED.get() or may_act_for(self, user_id))
    )


def note(call: str | None) -> str | None:
    CALLED.set(call or "")
    return call
