"""Generated from proto/ by `make stubs`; never edited by hand."""

import importlib

from shop.stubs.notification.v1 import notification_pb2 as notification_pb2
from shop.stubs.order.v1 import order_pb2 as order_pb2
from shop.stubs.payment.v1 import payment_pb2 as payment_pb2
from shop.stubs.product.v1 import product_pb2 as product_pb2
from shop.stubs.type.v1 import address_pb2 as address_pb2
from shop.stubs.type.v1 import call_pb2 as call_pb2
from shop.stubs.type.v1 import money_pb2 as money_pb2
from shop.stubs.user.v1 import user_pb2 as user_pb2

_GRPC = {
    "notification_pb2_grpc": "shop.stubs.notification.v1.notification_pb2_grpc",
    "order_pb2_grpc": "shop.stubs.order.v1.order_pb2_grpc",
    "payment_pb2_grpc": "shop.stubs.payment.v1.payment_pb2_grpc",
    "product_pb2_grpc": "shop.stubs.product.v1.product_pb2_grpc",
    "address_pb2_grpc": "shop.stubs.type.v1.address_pb2_grpc",
    "call_pb2_grpc": "shop.stubs.type.v1.call_pb2_grpc",
    "money_pb2_grpc": "shop.stubs.type.v1.money_pb2_grpc",
    "user_pb2_grpc": "shop.stubs.user.v1.user_pb2_grpc",
}


def __getattr__(name):
    # Programs that call nothing over gRPC do not load it.
    if name not in _GRPC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(_GRPC[name])
