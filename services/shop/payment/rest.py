"""Payments over REST: decodes, calls, encodes."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from starlette.responses import Response

from shop.money import Money
from shop.payment.domain import Payment
from shop.payment.service import PaymentService
from shop.payment.visibility import visible, visible_ones
from shop.platform.access import Access, Authenticator, is_internal
from shop.platform.rest.answers import changed, found
from shop.platform.rest.app import rest_api
from shop.platform.rest.caching import PERSONAL
from shop.platform.rest.call import Call
from shop.platform.rest.docs_page import add_docs
from shop.platform.rest.operations import changing, reading
from shop.platform.rest.parameters import CheckoutId, OrderIdsOfPayments, PaymentId, parse_ids
from shop.resources.about import ABOUT
from shop.resources.documents import inner_payment_document, payment_document
from shop.resources.models import payments as models

TAGS = [{"name": "payments", "description": "Payments of orders; changed by other parts of the shop only."}]


def build_app(service: PaymentService, authenticator: Authenticator) -> FastAPI:
    """Returns the application.

    Args:
        service: Does the work.
        authenticator: Decides who is admitted.
    """
    api = rest_api(
        title="Hopwise payment", summary="Payments of orders", description=ABOUT, tags=TAGS, authenticator=authenticator
    )
    _add_reads(api, service)
    _add_changes(api, service)
    add_docs(api)
    return api


def _add_reads(api: FastAPI, service: PaymentService) -> None:
    @api.get("/v1/payments", **reading("payments", models.PaymentList, access=Access.CALLER))
    async def list_payments(call: Call, order_ids: OrderIdsOfPayments) -> Response:
        """The payments of many orders; a customer's own, any for partners. Others are left out as unknown ones are."""
        payments = visible_ones(await service.batch_get_payments_by_order(parse_ids(order_ids, "order_ids")))
        return found(call, {"payments": [_document(payment) for payment in payments]}, PERSONAL)

    @api.get("/v1/payments/{payment_id}", **reading("payments", models.Payment, access=Access.CALLER, problems=[404]))
    async def get_payment(call: Call, payment_id: PaymentId) -> Response:
        """One payment: a customer's own, any for partners."""
        return found(call, _document(visible(await service.get_payment(payment_id))), PERSONAL)


def _add_changes(api: FastAPI, service: PaymentService) -> None:
    path = "/v1/payments/by-checkout/{checkout_id:name}"

    @api.put(path, **changing("payments", models.Payment, access=Access.INTERNAL, problems=[402, 409]))
    async def authorize_payment(checkout_id: CheckoutId, new: models.Authorization) -> Response:
        """Asks the bank to set an amount aside; the same again changes nothing."""
        amount = Money(new.amount.amount_minor, new.amount.currency)
        payment = await service.authorize_payment(
            checkout_id=checkout_id, user_id=new.user_id, amount=amount, payment_token=new.payment_token
        )
        return changed(_document(payment))

    @api.post(f"{path}:capture", **changing("payments", models.Payment, access=Access.INTERNAL, problems=[409]))
    async def capture_payment(checkout_id: CheckoutId, capture: models.Capture) -> Response:
        """Takes an authorised amount and ties it to its order."""
        return changed(_document(await service.capture_payment(checkout_id=checkout_id, order_id=capture.order_id)))

    @api.post(
        f"{path}:void", **changing("payments", models.Payment, access=Access.INTERNAL, problems=[409], body=False)
    )
    async def void_payment(checkout_id: CheckoutId) -> Response:
        """Gives an amount back; an unknown checkout is remembered as voided."""
        return changed(_document(await service.void_payment(checkout_id)))


def _document(payment: Payment) -> Any:
    """A caller from outside sees what a gateway would show."""
    return inner_payment_document(payment) if is_internal() else payment_document(payment)
