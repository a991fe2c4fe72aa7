"""Generated from proto/ by `make stubs`; never edited by hand."""

from datetime import UTC
from datetime import datetime
from datetime import timedelta
from shop.stubs.notification.v1 import notification_pb2
from shop.values.notification import Event
from shop.values.notification import Notification
from shop.values.notification import Update
from shop.values.order import OrderStatus

ORDER_STATUS_NUMBERS = {OrderStatus.PENDING: 1, OrderStatus.CONFIRMED: 2, OrderStatus.SHIPPED: 3, OrderStatus.DELIVERED: 4, OrderStatus.CANCELLED: 5, OrderStatus.FAILED: 6}
ORDER_STATUS_VALUES = {number: value for value, number in ORDER_STATUS_NUMBERS.items()}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def encode_event(value):
    return notification_pb2.Event(id=value.id, order_id=value.order_id, user_id=value.user_id, status=ORDER_STATUS_NUMBERS[value.status], create_time=value.happened_at, traceparent=value.traceparent)


def decode_event(message):
    return Event(message.id, message.order_id, message.user_id, ORDER_STATUS_VALUES.get(message.status, OrderStatus.FAILED), EPOCH + timedelta(seconds=message.create_time.seconds, microseconds=message.create_time.nanos // 1_000), message.traceparent)


def request_notify(events):
    return notification_pb2.NotifyRequest(events=map(encode_event, events))


def call_notify(method, request):
    return method(list(map(decode_event, request.events)))


def decode_notify_response(message):
    return None


def encode_notify_response(value):
    return notification_pb2.NotifyResponse()


def request_list_notifications(user_id):
    return notification_pb2.ListNotificationsRequest(user_id=user_id)


def call_list_notifications(method, request):
    return method(request.user_id)


def encode_notification(value):
    return notification_pb2.Notification(position=value.position, order_id=value.order_id, status=ORDER_STATUS_NUMBERS[value.status], create_time=value.created_at, read=value.read, traceparent=value.traceparent)


def decode_notification(message):
    return Notification(message.position, message.order_id, ORDER_STATUS_VALUES.get(message.status, OrderStatus.FAILED), EPOCH + timedelta(seconds=message.create_time.seconds, microseconds=message.create_time.nanos // 1_000), message.read, message.traceparent)


def decode_list_notifications_response(message):
    return list(map(decode_notification, message.notifications))


def encode_list_notifications_response(value):
    return notification_pb2.ListNotificationsResponse(notifications=map(encode_notification, value))


def request_mark_read(user_id, up_to_position):
    return notification_pb2.MarkReadRequest(user_id=user_id, up_to_position=up_to_position)


def call_mark_read(method, request):
    return method(request.user_id, request.up_to_position)


def decode_mark_read_response(message):
    return message.unread


def encode_mark_read_response(value):
    return notification_pb2.MarkReadResponse(unread=value)


def request_watch_order(order_id, after=None):
    return notification_pb2.WatchOrderRequest(order_id=order_id, after_position=after)


def call_watch_order(method, request):
    return method(request.order_id, request.after_position if request.HasField("after_position") else None)


def encode_watch_order_response(value):
    return notification_pb2.WatchOrderResponse(notification=None if value.notification is None else encode_notification(value.notification), position=value.position)


def decode_watch_order_response(message):
    return Update(decode_notification(message.notification) if message.HasField("notification") else None, message.position)


def request_watch_notifications(user_id, after=None):
    return notification_pb2.WatchNotificationsRequest(user_id=user_id, after_position=after)


def call_watch_notifications(method, request):
    return method(request.user_id, request.after_position if request.HasField("after_position") else None)


def encode_watch_notifications_response(value):
    return notification_pb2.WatchNotificationsResponse(notification=None if value.notification is None else encode_notification(value.notification), position=value.position)


def decode_watch_notifications_response(message):
    return Update(decode_notification(message.notification) if message.HasField("notification") else None, message.position)

CALLS = {
    "Notify": (notification_pb2.NotifyRequest, notification_pb2.NotifyResponse, request_notify, call_notify, encode_notify_response, decode_notify_response, {}),
    "ListNotifications": (notification_pb2.ListNotificationsRequest, notification_pb2.ListNotificationsResponse, request_list_notifications, call_list_notifications, encode_list_notifications_response, decode_list_notifications_response, {}),
    "MarkRead": (notification_pb2.MarkReadRequest, notification_pb2.MarkReadResponse, request_mark_read, call_mark_read, encode_mark_read_response, decode_mark_read_response, {}),
    "WatchOrder": (notification_pb2.WatchOrderRequest, notification_pb2.WatchOrderResponse, request_watch_order, call_watch_order, encode_watch_order_response, decode_watch_order_response, {'after': 'after_position'}),
    "WatchNotifications": (notification_pb2.WatchNotificationsRequest, notification_pb2.WatchNotificationsResponse, request_watch_notifications, call_watch_notifications, encode_watch_notifications_response, decode_watch_notifications_response, {'after': 'after_position'}),
}
