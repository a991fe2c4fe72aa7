"""The examples in the OpenAPI documents."""

from __future__ import annotations

from typing import Any

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
