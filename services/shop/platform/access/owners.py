"""Wraps a port's methods in the owner rules from the contract's rows, where calls from outside enter.

Partners and calls from inside may act for all users, and customers only for themselves.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import ParamSpec, TypeVar, cast

from shop.contract.calls import Call, Service
from shop.platform.access.rules import OwnedThing, Thing, current_caller, visible

P = TypeVar("P")
Q = ParamSpec("Q")
R = TypeVar("R")
USER_ID = "user_id"
"""Name of the argument of a method, or of the attribute of a value, that has the id of the user concerned."""


def apply_owner_rules(service: Service[P], port: object) -> P:
    """Returns a port's methods, each wrapped in the owner rule of its row.

    Where a rule needs a call to another service, the use case makes this call, and that service's rules apply to it.
    """
    reads = {row.name: row.port for row in service.calls if row.owner.startswith("response")}

    def apply(row: Call[..., object]) -> Callable[..., object]:
        owner, _, path = row.owner.partition(".")
        method = getattr(port, row.port)
        if owner == "request":
            return _of_argument(method)
        if owner == "response":
            return _of_each(method) if "." in path else _of_answer(method, service.name)
        if owner in reads:
            return _of_read(method, _of_answer(getattr(port, reads[owner]), service.name))
        return cast("Callable[..., object]", method)

    return service.implement(apply)


def _of_argument(method: Callable[Q, R]) -> Callable[Q, R]:
    def check(*args: Q.args, **kwargs: Q.kwargs) -> R:
        current_caller().require_owner(cast(int, kwargs[USER_ID] if USER_ID in kwargs else args[0]))
        return method(*args, **kwargs)

    return check


def _of_answer(method: Callable[Q, Awaitable[Thing]], kind: str) -> Callable[Q, Awaitable[Thing]]:
    async def check(*args: Q.args, **kwargs: Q.kwargs) -> Thing:
        return visible(kind, await method(*args, **kwargs))

    return check


def _of_each(method: Callable[Q, Awaitable[Iterable[Thing]]]) -> Callable[Q, Awaitable[list[Thing]]]:
    async def select(*args: Q.args, **kwargs: Q.kwargs) -> list[Thing]:
        caller = current_caller()
        return [thing for thing in await method(*args, **kwargs) if caller.may_act_for(thing.user_id)]

    return select


def _of_read(
    method: Callable[[int], Awaitable[R]], read: Callable[[int], Awaitable[OwnedThing]]
) -> Callable[[int], Awaitable[R]]:
    async def check(number: int) -> R:
        if not current_caller().is_privileged:
            await read(number)
        return await method(number)

    return check
