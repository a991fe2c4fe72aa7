"""The services as their callers see them: ports, value types, and adapters over each protocol."""

from shop.clients.ports import Clients, OrderClient, Page, PaymentClient, ProductClient, UserClient
from shop.order.domain import CheckoutLine, JoinedOrderLine, Order, OrderLine, OrderStatus
from shop.payment.domain import Payment, PaymentStatus
from shop.product.domain import Product, ProductRow, Reservation, ReservationState, ReservedLine, Review, StockLine
from shop.user.domain import Address, LoginResult, User

__all__ = [
    "Address",
    "CheckoutLine",
    "Clients",
    "JoinedOrderLine",
    "LoginResult",
    "Order",
    "OrderClient",
    "OrderLine",
    "OrderStatus",
    "Page",
    "Payment",
    "PaymentClient",
    "PaymentStatus",
    "Product",
    "ProductClient",
    "ProductRow",
    "Reservation",
    "ReservationState",
    "ReservedLine",
    "Review",
    "StockLine",
    "User",
    "UserClient",
]
