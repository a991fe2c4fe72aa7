"""Payments over REST: decodes requests, calls the use cases, encodes the answers."""

from __future__ import annotations

from fastapi import FastAPI

from shop.contract.ports import PaymentClient
from shop.money import Money
from shop.payment.service import PaymentService
from shop.platform.access.rules import is_internal
from shop.platform.http.caching import PERSONAL
from shop.platform.incoming import Incoming
from shop.platform.rest.answers import Answer, answer_changed, ok
from shop.platform.rest.app import add_docs
from shop.platform.rest.openapi import changing, reading
from shop.platform.rest.parameters import CheckoutId, OrderIdsOfPayments, PaymentId, parse_ids
from shop.platform.rest.requests import RestCall
from shop.resources.request_bodies import Authorization, Capture
from shop.resources.response_bodies import InnerPaymentDocument, InnerPaymentList, inner_payment_document
from shop.resources.service_api import service_api
from shop.values.payment import Payment

TAGS = {"payments": "Payments of orders; changed by other parts of the shop only."}


def build_app(service: PaymentService, incoming: Incoming) -> FastAPI:
    api = service_api("payment", "Payments of orders", TAGS, incoming)

    @api.api_route(**reading("payments", PaymentClient.batch_get_payments_by_order))
    async def list_payments(call: RestCall, order_ids: OrderIdsOfPayments) -> Answer[InnerPaymentList]:
        """The payments of many orders; a customer's own, any for partners. Others are left out as unknown ones are."""
        payments = await service.batch_get_payments_by_order(parse_ids(order_ids, "order_ids"))
        return ok(call, InnerPaymentList([_document(payment) for payment in payments]), PERSONAL)

    @api.api_route(**reading("payments", PaymentClient.get_payment, problems=[404]))
    async def get_payment(call: RestCall, payment_id: PaymentId) -> Answer[InnerPaymentDocument]:
        """One payment: a customer's own, any for partners."""
        return ok(call, _document(await service.get_payment(payment_id)), PERSONAL)

    @api.api_route(**changing("payments", PaymentClient.authorize_payment, problems=[402, 409]))
    async def authorize_payment(checkout_id: CheckoutId, new: Authorization) -> Answer[InnerPaymentDocument]:
        """Asks the bank to set an amount aside; the same again changes nothing."""
        amount = Money(new.amount.amount_minor, new.amount.currency)
        payment = await service.authorize_payment(
            checkout_id=checkout_id, user_id=new.user_id, amount=amount, payment_token=new.payment_token
        )
        return answer_changed(_document(payment))

    @api.api_route(**changing("payments", PaymentClient.capture_payment, problems=[409]))
    async def capture_payment(checkout_id: CheckoutId, capture: Capture) -> Answer[InnerPaymentDocument]:
        """Takes an authorised amount and ties it to its order."""
        return answer_changed(
            _document(await service.capture_payment(checkout_id=checkout_id, order_id=capture.order_id))
        )

    @api.api_route(**changing("payments", PaymentClient.void_payment, problems=[409], body=False))
    async def void_payment(checkout_id: CheckoutId) -> Answer[InnerPaymentDocument]:
        """Gives an amount back; an unknown checkout is remembered as voided."""
        return answer_changed(_document(await service.void_payment(checkout_id)))

    add_docs(api)
    return api


def _document(payment: Payment) -> InnerPaymentDocument:
    """Returns a payment's document; a caller from outside sees what a gateway would show."""
    return inner_payment_document(payment, inside=is_internal())
