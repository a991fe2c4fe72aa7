"""Notifications: their rules, without any I/O."""

from __future__ import annotations

from shop.errors import InvalidArgument, PositionGone
from shop.values.notification import KEPT


def begin_behind(asked: int | None, last: int) -> int:
    """Returns the position after which a stream begins.

    Args:
        asked: The position that the caller asks for, at least 0; None to begin with new updates.
        last: Position of the customer's newest notification; 0 if there was none.

    Raises:
        InvalidArgument: There is no such position yet.
        PositionGone: Notifications after this position are no longer kept.
    """
    if asked is None:
        return last
    if asked > last:
        raise InvalidArgument(f"after_position is {asked}; the newest is {last}", field="after_position")
    if asked < last - KEPT:
        raise PositionGone(
            f"after_position is {asked}; only notifications after {last - KEPT} are kept: list them, and watch after "
            "the newest",
            field="after_position",
        )
    return asked
