"""Seeds faults: replaces functions, methods and classes in every module that imports them."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ParamSpec, TypeAlias, TypeVar
from unittest import mock

P = ParamSpec("P")
R = TypeVar("R")
Seed: TypeAlias = Callable[[], None]
"""Makes a component faulty; `mock.patch.stopall` removes the fault."""


@dataclass(frozen=True)
class Fault:
    """A mistake that a component's author may make, and that makes a law fail, named by its test."""

    says: str
    law: str
    seed: Seed


def seed_all(*seeds: Seed) -> Seed:
    def apply() -> None:
        for one in seeds:
            one()

    return apply


def replace(original: Callable[P, R], faulty: Callable[P, R]) -> Seed:
    """Replaces a function, method or class; the seed raises LookupError if the original is not where its name says."""
    *path, name = original.__qualname__.split(".")
    if not isinstance(faulty, type):
        functools.update_wrapper(faulty, original)

    def apply() -> None:
        module = sys.modules[original.__module__]
        owner = functools.reduce(getattr, path, module)
        if inspect.getattr_static(owner, name, None) is not original:
            raise LookupError(f"{original.__module__}.{original.__qualname__} has changed; adapt load/faulty")
        if path:
            mock.patch.object(owner, name, faulty).start()
            return
        # Modules that have imported the function also refer to it by a name.
        for user in list(sys.modules.values()):
            if isinstance(user, ModuleType) and user.__name__.partition(".")[0] not in (__package__, "__main__"):
                for alias in [alias for alias, value in vars(user).items() if value is original]:
                    mock.patch.object(user, alias, faulty).start()

    return apply


def set_constant(module: ModuleType, name: str, value: object) -> Seed:
    """Sets a constant of a module; the seed raises AttributeError if the constant does not exist."""

    def apply() -> None:
        mock.patch.object(module, name, value).start()

    return apply


def change_arguments(original: Callable[..., Any], **changes: Callable[[Any], Any]) -> Seed:
    """Changes arguments of a function, by name. Raises TypeError if the function has no such argument."""
    signature = inspect.signature(original)
    signature.bind_partial(**dict.fromkeys(changes))

    def faulty(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        for name, change in changes.items():
            given.arguments[name] = change(given.arguments[name])
        return original(*given.args, **given.kwargs)

    return replace(original, faulty)


def change_result(original: Callable[P, R], change: Callable[[R], R]) -> Seed:
    def faulty(*args: P.args, **kwargs: P.kwargs) -> R:
        return change(original(*args, **kwargs))

    return replace(original, faulty)


def change_answer(original: Callable[P, Coroutine[Any, Any, R]], change: Callable[[R], R]) -> Seed:
    async def faulty(*args: P.args, **kwargs: P.kwargs) -> R:
        return change(await original(*args, **kwargs))

    return replace(original, faulty)


def change_error(
    original: Callable[P, Coroutine[Any, Any, R]], change: Callable[[Exception, Mapping[str, Any]], Exception]
) -> Seed:
    """Changes what a coroutine function raises, given the error and the function's arguments."""
    signature = inspect.signature(original)

    async def faulty(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await original(*args, **kwargs)
        except Exception as error:
            raise change(error, signature.bind(*args, **kwargs).arguments) from error

    return replace(original, faulty)


def call_before(original: Callable[P, R], act: Callable[[], object]) -> Seed:
    """Calls `act` before each call of a function."""

    def faulty(*args: P.args, **kwargs: P.kwargs) -> R:
        act()
        return original(*args, **kwargs)

    return replace(original, faulty)
