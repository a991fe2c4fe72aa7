"""Generated from proto/ by `make stubs`; never edited by hand."""

from datetime import UTC
from datetime import datetime
from shop.money import Money
from shop.stubs.thrift import ttypes
from shop.values.order import CheckoutLine
from shop.values.order import JoinedOrderLine
from shop.values.order import Order
from shop.values.order import OrderLine
from shop.values.order import OrderStatus
from shop.values.page import Page

ORDER_STATUS_NUMBERS = {OrderStatus.PENDING: 1, OrderStatus.CONFIRMED: 2, OrderStatus.SHIPPED: 3, OrderStatus.DELIVERED: 4, OrderStatus.CANCELLED: 5, OrderStatus.FAILED: 6}
ORDER_STATUS_VALUES = {number: value for value, number in ORDER_STATUS_NUMBERS.items()}


def encode_checkout_line(value):
    return ttypes.CheckoutLine(value.product_id, value.quantity)


def decode_checkout_line(message):
    return CheckoutLine(message.product_id, message.quantity)


def request_checkout(*, user_id, lines, payment_token, idempotency_key):
    return ttypes.CheckoutRequest(user_id, list(map(encode_checkout_line, lines)), payment_token, idempotency_key)


def call_checkout(method, request):
    return method(user_id=request.user_id, lines=list(map(decode_checkout_line, request.lines)), payment_token=request.payment_token, idempotency_key=request.idempotency_key)


def encode_money(value):
    return ttypes.Money(value.amount_minor, value.currency)


def decode_money(message):
    return Money(message.amount_minor, message.currency)


def encode_order_line(value):
    return ttypes.OrderLine(value.id, value.line_number, value.product_id, value.quantity, encode_money(value.unit_price))


def decode_order_line(message):
    return OrderLine(message.id, message.line_number, message.product_id, message.quantity, decode_money(message.unit_price))


def encode_order(value):
    return ttypes.Order(value.id, value.user_id, ORDER_STATUS_NUMBERS[value.status], ttypes.Timestamp(int(value.placed_at.timestamp())), encode_money(value.total), list(map(encode_order_line, value.lines)))


def decode_order(message):
    return Order(message.id, message.user_id, ORDER_STATUS_VALUES[message.status], datetime.fromtimestamp(message.create_time.seconds, UTC), decode_money(message.total), tuple(map(decode_order_line, message.lines)))


def request_get_order(order_id):
    return ttypes.GetOrderRequest(order_id)


def call_get_order(method, request):
    return method(request.id)


def request_batch_get_orders(ids):
    return ttypes.BatchGetOrdersRequest(list(ids))


def call_batch_get_orders(method, request):
    return method(request.ids)


def decode_batch_get_orders_response(message):
    return list(map(decode_order, message.orders))


def encode_batch_get_orders_response(value):
    return ttypes.BatchGetOrdersResponse(list(map(encode_order, value)))


def request_list_orders_by_user(user_id, *, page_size=0, page_token=''):
    return ttypes.ListOrdersByUserRequest(user_id, page_size, page_token)


def call_list_orders_by_user(method, request):
    return method(request.user_id, page_size=request.page_size, page_token=request.page_token)


def decode_list_orders_by_user_response(message):
    return Page(tuple(map(decode_order, message.orders)), message.next_page_token)


def encode_list_orders_by_user_response(value):
    return ttypes.ListOrdersByUserResponse(list(map(encode_order, value.items)), value.next_page_token)


def request_update_order_status(order_id, status):
    return ttypes.UpdateOrderStatusRequest(order_id, ORDER_STATUS_NUMBERS[status])


def call_update_order_status(method, request):
    return method(request.id, ORDER_STATUS_VALUES.get(request.status, OrderStatus.PENDING))


def request_cancel_order(order_id):
    return ttypes.CancelOrderRequest(order_id)


def call_cancel_order(method, request):
    return method(request.id)


def request_stream_order_lines(*, after_line_id=0, limit=0):
    return ttypes.StreamOrderLinesRequest(after_line_id, limit)


def call_stream_order_lines(method, request):
    return method(after_line_id=request.after_line_id, limit=request.limit)


def encode_joined_order_line(value):
    return ttypes.JoinedOrderLine(value.id, value.order_id, value.user_id, ORDER_STATUS_NUMBERS[value.status], ttypes.Timestamp(int(value.placed_at.timestamp())), value.product_id, value.quantity, encode_money(value.unit_price))


def decode_joined_order_line(message):
    return JoinedOrderLine(message.id, message.order_id, message.user_id, ORDER_STATUS_VALUES[message.status], datetime.fromtimestamp(message.create_time.seconds, UTC), message.product_id, message.quantity, decode_money(message.unit_price))


def decode_stream_order_lines_response(message):
    return map(decode_joined_order_line, message.lines)


def encode_stream_order_lines_response(value):
    return ttypes.StreamOrderLinesResponse(list(map(encode_joined_order_line, value)))

CALLS = {
    "Checkout": (None, None, request_checkout, call_checkout, encode_order, decode_order, {}),
    "GetOrder": (None, None, request_get_order, call_get_order, encode_order, decode_order, {'order_id': 'id'}),
    "BatchGetOrders": (None, None, request_batch_get_orders, call_batch_get_orders, encode_batch_get_orders_response, decode_batch_get_orders_response, {}),
    "ListOrdersByUser": (None, None, request_list_orders_by_user, call_list_orders_by_user, encode_list_orders_by_user_response, decode_list_orders_by_user_response, {}),
    "UpdateOrderStatus": (None, None, request_update_order_status, call_update_order_status, encode_order, decode_order, {'order_id': 'id'}),
    "CancelOrder": (None, None, request_cancel_order, call_cancel_order, encode_order, decode_order, {'order_id': 'id'}),
    "StreamOrderLines": (None, None, request_stream_order_lines, call_stream_order_lines, encode_stream_order_lines_response, decode_stream_order_lines_response, {}),
}
