"""Answers that last, by what serves them: as long as something comes now and then, however long they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

OVER_REST = ("/v1/orders/[^/]+/events", "/v1/users/[^/]+/notifications/events")
OVER_GRPC = (r"/shop\.notification\.v1\.NotificationService/Watch[A-Za-z]+",)
LASTING: Mapping[str, Sequence[str]] = {"rest-gateway": OVER_REST, "notification": (*OVER_REST, *OVER_GRPC)}
"""Regular expressions of whole paths, by component: those of clients that wait for news of their orders."""
