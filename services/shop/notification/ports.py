"""What the notification service needs: a store of customers' notifications."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shop.values.notification import Event, Notification


class NotificationStore(Protocol):
    """Each customer's latest notifications, by position; every method is one statement."""

    async def add(self, events: Sequence[Event]) -> None:
        """Adds new events, all or none, and drops old ones beyond the limit; raises `Conflict` for a rival's event."""

    async def newest(self, user_id: int) -> list[Notification]:
        """Returns all of a customer's notifications, newest first; none if the account is gone."""

    async def mark_read(self, user_id: int, up_to: int) -> int:
        """Marks a customer's notifications up to a position as read; returns how many unread ones remain."""

    async def last_position(self, user_id: int) -> int | None:
        """Returns the position of a customer's newest notification; None if there is none, or the account is gone."""

    async def behind(self, user_id: int, position: int, limit: int) -> list[Notification]:
        """Returns notifications after a position, oldest first; raises `NotFound` if the customer's account is gone."""
