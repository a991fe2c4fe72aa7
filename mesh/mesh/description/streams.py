"""Answers that last, by what serves them: as long as something comes now and then, however long they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

LASTING: Mapping[str, Sequence[str]] = {
    "rest-gateway": ("/v1/orders/[^/]+/events", "/v1/users/[^/]+/notifications/events"),
    "notification": (r"/shop\.notification\.v1\.NotificationService/Watch[A-Za-z]+",),
}
"""Regular expressions of whole paths, by component: those of clients that wait for news of their orders."""
