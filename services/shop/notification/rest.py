"""Notifications over REST: decodes requests, calls the use cases, encodes the answers.

`shop.resources.notifications` has the routes that gateways serve as well.
"""

from __future__ import annotations

from fastapi import FastAPI

from shop.contract.ports import NotificationClient
from shop.notification.service import NotificationService
from shop.platform.incoming import Incoming
from shop.platform.rest.answers import Answer, answer_changed
from shop.platform.rest.app import add_docs
from shop.platform.rest.openapi import changing
from shop.resources.notifications import TAG, add_notifications
from shop.resources.request_bodies import NewEvents
from shop.resources.response_bodies import Stored
from shop.resources.service_api import service_api
from shop.values.notification import Event
from shop.values.order import OrderStatus

TAGS = {TAG: "Changes of orders, sent to their buyers."}


def build_app(service: NotificationService, incoming: Incoming) -> FastAPI:
    api = service_api("notification", "Customers' notifications of their orders", TAGS, incoming)

    add_notifications(api, service)

    @api.api_route(**changing(TAG, NotificationClient.notify, problems=[409]))
    async def notify(new: NewEvents) -> Answer[Stored]:
        """Stores what happened to orders, each id only once; for the order service."""
        events = [
            Event(one.id, one.order_id, one.user_id, OrderStatus(one.status), one.happened_at, one.traceparent)
            for one in new.events
        ]
        await service.notify(events)
        return answer_changed(Stored(len(events)))

    add_docs(api)
    return api
