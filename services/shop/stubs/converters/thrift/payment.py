"""Generated from proto/ by `make stubs`; never edited by hand."""

from datetime import UTC
from datetime import datetime
from shop.money import Money
from shop.stubs.thrift import ttypes
from shop.values.payment import Payment
from shop.values.payment import PaymentStatus

PAYMENT_STATUS_NUMBERS = {PaymentStatus.AUTHORIZED: 1, PaymentStatus.CAPTURED: 2, PaymentStatus.VOIDED: 3, PaymentStatus.DECLINED: 4}
PAYMENT_STATUS_VALUES = {number: value for value, number in PAYMENT_STATUS_NUMBERS.items()}


def encode_money(value):
    return ttypes.Money(value.amount_minor, value.currency)


def decode_money(message):
    return Money(message.amount_minor, message.currency)


def request_authorize_payment(*, checkout_id, user_id, amount, payment_token):
    return ttypes.AuthorizePaymentRequest(checkout_id, encode_money(amount), payment_token, user_id)


def call_authorize_payment(method, request):
    return method(checkout_id=request.checkout_id, user_id=request.user_id, amount=decode_money(request.amount), payment_token=request.payment_token)


def encode_payment(value):
    return ttypes.Payment(value.id, value.checkout_id, value.order_id, PAYMENT_STATUS_NUMBERS[value.status], encode_money(value.amount), ttypes.Timestamp(int(value.placed_at.timestamp())), value.user_id)


def decode_payment(message):
    return Payment(message.id, message.checkout_id, message.order_id, message.user_id, PAYMENT_STATUS_VALUES[message.status], decode_money(message.amount), datetime.fromtimestamp(message.create_time.seconds, UTC))


def request_capture_payment(*, checkout_id, order_id):
    return ttypes.CapturePaymentRequest(checkout_id, order_id)


def call_capture_payment(method, request):
    return method(checkout_id=request.checkout_id, order_id=request.order_id)


def request_void_payment(checkout_id):
    return ttypes.VoidPaymentRequest(checkout_id)


def call_void_payment(method, request):
    return method(request.checkout_id)


def request_get_payment(payment_id):
    return ttypes.GetPaymentRequest(payment_id)


def call_get_payment(method, request):
    return method(request.id)


def request_batch_get_payments_by_order(order_ids):
    return ttypes.BatchGetPaymentsByOrderRequest(list(order_ids))


def call_batch_get_payments_by_order(method, request):
    return method(request.order_ids)


def decode_batch_get_payments_by_order_response(message):
    return list(map(decode_payment, message.payments))


def encode_batch_get_payments_by_order_response(value):
    return ttypes.BatchGetPaymentsByOrderResponse(list(map(encode_payment, value)))

CALLS = {
    "AuthorizePayment": (None, None, request_authorize_payment, call_authorize_payment, encode_payment, decode_payment, {}),
    "CapturePayment": (None, None, request_capture_payment, call_capture_payment, encode_payment, decode_payment, {}),
    "VoidPayment": (None, None, request_void_payment, call_void_payment, encode_payment, decode_payment, {}),
    "GetPayment": (None, None, request_get_payment, call_get_payment, encode_payment, decode_payment, {'payment_id': 'id'}),
    "BatchGetPaymentsByOrder": (None, None, request_batch_get_payments_by_order, call_batch_get_payments_by_order, encode_batch_get_payments_by_order_response, decode_batch_get_payments_by_order_response, {}),
}
