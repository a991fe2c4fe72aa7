"""Generated from proto/ by `make stubs`; never edited by hand."""

from datetime import UTC
from datetime import datetime
from google.protobuf.timestamp_pb2 import Timestamp
from shop.money import Money
from shop.stubs.payment.v1 import payment_pb2
from shop.stubs.type.v1 import money_pb2
from shop.values.payment import Payment
from shop.values.payment import PaymentStatus

PAYMENT_STATUS_NUMBERS = {PaymentStatus.AUTHORIZED: 1, PaymentStatus.CAPTURED: 2, PaymentStatus.VOIDED: 3, PaymentStatus.DECLINED: 4}
PAYMENT_STATUS_VALUES = {number: value for value, number in PAYMENT_STATUS_NUMBERS.items()}


def encode_money(value):
    return money_pb2.Money(amount_minor=value.amount_minor, currency=value.currency)


def decode_money(message):
    return Money(message.amount_minor, message.currency)


def request_authorize_payment(*, checkout_id, user_id, amount, payment_token):
    return payment_pb2.AuthorizePaymentRequest(checkout_id=checkout_id, user_id=user_id, amount=encode_money(amount), payment_token=payment_token)


def call_authorize_payment(method, request):
    return method(checkout_id=request.checkout_id, user_id=request.user_id, amount=decode_money(request.amount), payment_token=request.payment_token)


def encode_payment(value):
    return payment_pb2.Payment(id=value.id, checkout_id=value.checkout_id, order_id=value.order_id, user_id=value.user_id, status=PAYMENT_STATUS_NUMBERS[value.status], amount=encode_money(value.amount), create_time=Timestamp(seconds=int(value.placed_at.timestamp())))


def decode_payment(message):
    return Payment(message.id, message.checkout_id, message.order_id, message.user_id, PAYMENT_STATUS_VALUES[message.status], decode_money(message.amount), datetime.fromtimestamp(message.create_time.seconds, UTC))


def request_capture_payment(*, checkout_id, order_id):
    return payment_pb2.CapturePaymentRequest(checkout_id=checkout_id, order_id=order_id)


def call_capture_payment(method, request):
    return method(checkout_id=request.checkout_id, order_id=request.order_id)


def request_void_payment(checkout_id):
    return payment_pb2.VoidPaymentRequest(checkout_id=checkout_id)


def call_void_payment(method, request):
    return method(request.checkout_id)


def request_get_payment(payment_id):
    return payment_pb2.GetPaymentRequest(id=payment_id)


def call_get_payment(method, request):
    return method(request.id)


def request_batch_get_payments_by_order(order_ids):
    return payment_pb2.BatchGetPaymentsByOrderRequest(order_ids=order_ids)


def call_batch_get_payments_by_order(method, request):
    return method(request.order_ids)


def decode_batch_get_payments_by_order_response(message):
    return list(map(decode_payment, message.payments))


def encode_batch_get_payments_by_order_response(value):
    return payment_pb2.BatchGetPaymentsByOrderResponse(payments=map(encode_payment, value))

CALLS = {
    "AuthorizePayment": (payment_pb2.AuthorizePaymentRequest, payment_pb2.Payment, request_authorize_payment, call_authorize_payment, encode_payment, decode_payment, {}),
    "CapturePayment": (payment_pb2.CapturePaymentRequest, payment_pb2.Payment, request_capture_payment, call_capture_payment, encode_payment, decode_payment, {}),
    "VoidPayment": (payment_pb2.VoidPaymentRequest, payment_pb2.Payment, request_void_payment, call_void_payment, encode_payment, decode_payment, {}),
    "GetPayment": (payment_pb2.GetPaymentRequest, payment_pb2.Payment, request_get_payment, call_get_payment, encode_payment, decode_payment, {'payment_id': 'id'}),
    "BatchGetPaymentsByOrder": (payment_pb2.BatchGetPaymentsByOrderRequest, payment_pb2.BatchGetPaymentsByOrderResponse, request_batch_get_payments_by_order, call_batch_get_payments_by_order, encode_batch_get_payments_by_order_response, decode_batch_get_payments_by_order_response, {}),
}
