"""Notifications: their rules, without any I/O."""

from __future__ import annotations

from collections.abc import Sequence

from shop.errors import InvalidArgument, PositionGone
from shop.values.notification import KEPT, Notification


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
        raise _position_error(asked, last - KEPT)
    return asked


def check_gapless(position: int, read: Sequence[Notification]) -> None:
    """Raises `PositionGone` if a notification is missing between a position and the notifications read after it."""
    # A customer's positions are consecutive, so only notifications that were dropped leave a gap.
    if read and read[0].position != position + 1:
        raise _position_error(position, read[0].position - 1)


def _position_error(position: int, kept_after: int) -> PositionGone:
    return PositionGone(
        f"after_position is {position}; only notifications after {kept_after} are kept: list them, and watch after "
        "the newest",
        field="after_position",
    )
