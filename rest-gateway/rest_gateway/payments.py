"""Payments: `/v1/payments`."""

from __future__ import annotations

from fastapi import FastAPI

from shop.contract.ports import Clients, PaymentClient
from shop.platform.http.caching import PERSONAL
from shop.platform.rest.answers import Answer, ok
from shop.platform.rest.openapi import reading
from shop.platform.rest.parameters import OrderIdsOfPayments, PaymentId, parse_ids
from shop.platform.rest.requests import RestCall
from shop.resources.response_bodies import PaymentDocument, PaymentList, payment_document


def add_payments(api: FastAPI, shop: Clients) -> None:
    payments = shop.payment

    @api.api_route(**reading("payments", PaymentClient.batch_get_payments_by_order))
    async def list_payments(call: RestCall, order_ids: OrderIdsOfPayments) -> Answer[PaymentList]:
        """The payments of many orders; a customer's own, any for partners. Others are left out as unknown ones are."""
        listed = await payments.batch_get_payments_by_order(parse_ids(order_ids, "order_ids"))
        return ok(call, PaymentList([payment_document(payment) for payment in listed]), PERSONAL)

    @api.api_route(**reading("payments", PaymentClient.get_payment, problems=[404]))
    async def get_payment(call: RestCall, payment_id: PaymentId) -> Answer[PaymentDocument]:
        """One payment: a customer's own, any for partners."""
        return ok(call, payment_document(await payments.get_payment(payment_id)), PERSONAL)
