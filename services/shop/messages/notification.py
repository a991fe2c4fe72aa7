"""Converts the messages of notifications to value types and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from google.protobuf.timestamp_pb2 import Timestamp

from shop.messages.order import STATUS_NUMBERS, STATUSES
from shop.stubs import notification_pb2 as pb
from shop.stubs import order_pb2
from shop.values.notification import Event, Notification
from shop.values.order import OrderStatus

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def event_message(event: Event) -> pb.Event:
    return pb.Event(
        id=event.id,
        order_id=event.order_id,
        user_id=event.user_id,
        status=STATUS_NUMBERS[event.status],
        create_time=_timestamp(event.happened_at),
        traceparent=event.traceparent,
    )


def event_from(message: pb.Event) -> Event:
    return Event(
        message.id,
        message.order_id,
        message.user_id,
        _status(message.status),
        _instant(message.create_time),
        message.traceparent,
    )


def notification_message(notification: Notification) -> pb.Notification:
    return pb.Notification(
        position=notification.position,
        order_id=notification.order_id,
        status=STATUS_NUMBERS[notification.status],
        create_time=_timestamp(notification.created_at),
        read=notification.read,
        traceparent=notification.traceparent,
    )


def notification_from(message: pb.Notification) -> Notification:
    return Notification(
        message.position,
        message.order_id,
        _status(message.status),
        _instant(message.create_time),
        message.read,
        message.traceparent,
    )


def _status(number: order_pb2.OrderStatus.ValueType) -> OrderStatus:
    # A number that the contract does not know, 0 included, is a status that no order is told to have.
    return STATUSES.get(number, OrderStatus.FAILED)


def _instant(stamp: Timestamp) -> datetime:
    return _EPOCH + timedelta(seconds=stamp.seconds, microseconds=stamp.nanos // 1_000)


def _timestamp(instant: datetime) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(instant)
    return stamp
