"""How the schemas of answers are published: their names in the OpenAPI documents, and examples of each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from shop.money import Money
from shop.platform.rest.openapi import Published
from shop.resources import documents
from shop.resources.examples import (
    ADDRESS,
    DOCUMENT,
    EUR_20,
    JOINED_LINE,
    NOTIFICATION,
    ORDER,
    PAYMENT,
    PRODUCT,
    PRODUCT_ROW,
    RESERVATION,
    REVIEW,
    USER,
)
from shop.values.notification import Notification
from shop.values.order import JoinedOrderLine
from shop.values.product import Document, Reservation, Review
from shop.values.user import Address, LoginResult, User

PUBLISHED: Mapping[type, Published] = MappingProxyType(
    {
        Money: Published("Money", [EUR_20]),
        Review: Published("Review", [REVIEW]),
        documents.ProductDocument: Published("Product", [PRODUCT, {**PRODUCT, "reviews": [REVIEW]}]),
        documents.ProductPage: Published("ProductPage", [{"products": [PRODUCT], "next_page_token": ""}]),
        documents.ProductRowsPage: Published("ProductRowsPage", [{"rows": [PRODUCT_ROW], "next_page_token": ""}]),
        documents.ReviewList: Published("ReviewList", [{"products": [{"product_id": 17, "reviews": [REVIEW]}]}]),
        Notification: Published("Notification", [NOTIFICATION]),
        documents.NotificationList: Published("NotificationList", [{"notifications": [NOTIFICATION]}]),
        documents.Stored: Published("Stored", [{"events": 1}]),
        documents.Unread: Published("Unread", [{"unread": 2}]),
        Document: Published("Document", [DOCUMENT]),
        Reservation: Published("Reservation", [RESERVATION]),
        Address: Published("PostalAddress", [ADDRESS]),
        User: Published("User", [USER]),
        documents.UserPage: Published("UserPage", [{"users": [USER], "next_page_token": ""}]),
        LoginResult: Published("Session", [{"token": "eyJhbGciOi...", "user": USER}]),
        documents.OrderDocument: Published("Order", [ORDER, {**ORDER, "payment": PAYMENT}]),
        documents.OrderPage: Published("OrderPage", [{"orders": [ORDER], "next_page_token": ""}]),
        documents.OrderList: Published("OrderList", [{"orders": [ORDER]}]),
        JoinedOrderLine: Published("JoinedOrderLine", [JOINED_LINE]),
        documents.OrderLinesPage: Published("OrderLinesPage", [{"lines": [JOINED_LINE], "next_page_token": ""}]),
        documents.PaymentDocument: Published("Payment", [PAYMENT]),
        documents.PaymentList: Published("PaymentList", [{"payments": [PAYMENT]}]),
        documents.InnerPaymentDocument: Published("Payment", [PAYMENT]),
        documents.InnerPaymentList: Published("PaymentList", [{"payments": [PAYMENT]}]),
    }
)
