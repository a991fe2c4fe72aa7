"""Applies the rows' owner rules around the methods of a port, where calls from outside enter.

Partners and calls from inside may act for all users; a customer for itself alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from shop.contract.calls import Call, Service
from shop.platform.access.rules import current_caller, visible

P = TypeVar("P")
Method: TypeAlias = Callable[..., Any]
USER_ID = "user_id"
"""The argument of a port's method, and the attribute of a value, that names the user whom it concerns."""


def apply_owner_rules(service: Service[P], port: P) -> P:
    """Returns the methods of a port, each with the owner rule of its row around it.

    Where a rule asks for a call of another service, the use case makes it through that service's rules.

    Args:
        service: The service.
        port: Its use cases.
    """
    reads = {row.name: row.port for row in service.calls if row.owner.startswith("response")}

    def apply(row: Call[..., object]) -> Method:
        owner, _, path = row.owner.partition(".")
        method: Method = getattr(port, row.port)
        if owner == "request":
            return _of_argument(method)
        if owner == "response":
            return _of_each(method) if "." in path else _of_answer(method, service.name)
        if owner in reads:
            return _of_read(method, _of_answer(getattr(port, reads[owner]), service.name))
        return method

    return service.implement(apply)


def _of_argument(method: Method) -> Method:
    def check(*args: Any, **kwargs: Any) -> Any:
        current_caller().require_owner(kwargs[USER_ID] if USER_ID in kwargs else args[0])
        return method(*args, **kwargs)

    return check


def _of_answer(method: Method, kind: str) -> Method:
    async def check(*args: Any, **kwargs: Any) -> Any:
        return visible(kind, await method(*args, **kwargs))

    return check


def _of_each(method: Method) -> Method:
    async def select(*args: Any, **kwargs: Any) -> Any:
        caller = current_caller()
        return [thing for thing in await method(*args, **kwargs) if caller.may_act_for(thing.user_id)]

    return select


def _of_read(method: Method, read: Method) -> Method:
    async def check(number: int) -> Any:
        if not current_caller().is_privileged:
            await read(number)
        return await method(number)

    return check
