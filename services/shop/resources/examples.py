"""How schemas are published in the OpenAPI documents: examples of bodies, and the names of answers with examples."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from shop.money import Money
from shop.platform.rest.openapi import PublishedSchema
from shop.resources import response_bodies as bodies
from shop.values.notification import Notification
from shop.values.order import JoinedOrderLine
from shop.values.product import Document, Reservation, Review
from shop.values.user import Address, LoginResult, User

Example = dict[str, Any]

EUR_20: Example = {"amount_minor": 1999, "currency": "EUR"}
EUR_40: Example = {"amount_minor": 3998, "currency": "EUR"}
PRODUCT: Example = {
    "id": 17,
    "title": "Product 17",
    "description": "What product 17 is.",
    "category": "c0000",
    "price": EUR_20,
    "stock": 420,
}
PRODUCT_ROW: Example = {"title": "Product 17", "price": EUR_20, "stock": 420, "product_id": 17}
REVIEW: Example = {
    "id": 49,
    "product_id": 17,
    "user_id": 8,
    "rating": 5,
    "title": "Would buy again",
    "body": "Does what it says.",
}
DOCUMENT: Example = {
    "id": 17,
    "sections": [
        {
            "title": "Heat",
            "records": [
                {
                    "text": "It stays in shape.",
                    "count": 12,
                    "value": 85.5,
                    "ok": True,
                    "at": "2025-03-04T05:06:07Z",
                    "price": EUR_20,
                }
            ],
        }
    ],
}
RESERVATION: Example = {
    "id": "8f14e45f-ceea-467f-a8f3-6b0e3b1c1d1e",
    "state": "HELD",
    "lines": [{"product_id": 17, "quantity": 2, "unit_price": EUR_20}],
}
ADDRESS: Example = {
    "recipient": "Ada Example",
    "street": "Example Street 17",
    "city": "Springfield",
    "postal_code": "10017",
    "country_code": "DE",
}
USER: Example = {"id": 17, "email": "user17@example.com", "name": "Ada Example", "address": ADDRESS}
PAYMENT: Example = {"id": 4711, "order_id": 4711, "status": "CAPTURED", "amount": EUR_40}
ORDER: Example = {
    "id": 4711,
    "user_id": 17,
    "status": "CONFIRMED",
    "placed_at": "2025-03-04T05:06:07Z",
    "total": EUR_40,
    "lines": [{"id": 14001, "line_number": 1, "product_id": 17, "quantity": 2, "unit_price": EUR_20}],
}
JOINED_LINE: Example = {
    "id": 14001,
    "order_id": 4711,
    "user_id": 17,
    "status": "CONFIRMED",
    "placed_at": "2025-03-04T05:06:07Z",
    "product_id": 17,
    "quantity": 2,
    "unit_price": EUR_20,
}
NOTIFICATION: Example = {
    "position": 17,
    "order_id": 4711,
    "status": "SHIPPED",
    "created_at": "2025-03-04T05:06:07.123456Z",
    "read": False,
    "traceparent": "",
}
EVENT: Example = {
    "id": 4711,
    "order_id": 4711,
    "user_id": 17,
    "status": "SHIPPED",
    "happened_at": "2025-03-04T05:06:07.123456Z",
    "traceparent": "",
}

PUBLISHED: Mapping[type, PublishedSchema] = MappingProxyType(
    {
        Money: PublishedSchema("Money", [EUR_20]),
        Review: PublishedSchema("Review", [REVIEW]),
        bodies.ProductDocument: PublishedSchema("Product", [PRODUCT, {**PRODUCT, "reviews": [REVIEW]}]),
        bodies.ProductPage: PublishedSchema("ProductPage", [{"products": [PRODUCT], "next_page_token": ""}]),
        bodies.ProductRowsPage: PublishedSchema("ProductRowsPage", [{"rows": [PRODUCT_ROW], "next_page_token": ""}]),
        bodies.ReviewList: PublishedSchema("ReviewList", [{"products": [{"product_id": 17, "reviews": [REVIEW]}]}]),
        Notification: PublishedSchema("Notification", [NOTIFICATION]),
        bodies.NotificationList: PublishedSchema("NotificationList", [{"notifications": [NOTIFICATION]}]),
        bodies.Stored: PublishedSchema("Stored", [{"events": 1}]),
        bodies.Unread: PublishedSchema("Unread", [{"unread": 2}]),
        Document: PublishedSchema("Document", [DOCUMENT]),
        Reservation: PublishedSchema("Reservation", [RESERVATION]),
        Address: PublishedSchema("PostalAddress", [ADDRESS]),
        User: PublishedSchema("User", [USER]),
        bodies.UserPage: PublishedSchema("UserPage", [{"users": [USER], "next_page_token": ""}]),
        LoginResult: PublishedSchema("Session", [{"token": "eyJhbGciOi...", "user": USER}]),
        bodies.OrderDocument: PublishedSchema("Order", [ORDER, {**ORDER, "payment": PAYMENT}]),
        bodies.OrderPage: PublishedSchema("OrderPage", [{"orders": [ORDER], "next_page_token": ""}]),
        bodies.OrderList: PublishedSchema("OrderList", [{"orders": [ORDER]}]),
        JoinedOrderLine: PublishedSchema("JoinedOrderLine", [JOINED_LINE]),
        bodies.OrderLinesPage: PublishedSchema("OrderLinesPage", [{"lines": [JOINED_LINE], "next_page_token": ""}]),
        bodies.PaymentDocument: PublishedSchema("Payment", [PAYMENT]),
        bodies.PaymentList: PublishedSchema("PaymentList", [{"payments": [PAYMENT]}]),
        bodies.InnerPaymentDocument: PublishedSchema("Payment", [PAYMENT]),
        bodies.InnerPaymentList: PublishedSchema("PaymentList", [{"payments": [PAYMENT]}]),
    }
)
