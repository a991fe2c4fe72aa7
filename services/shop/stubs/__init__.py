"""Generated from proto/ by `make stubs`; never edited by hand."""

from shop.stubs.notification.v1 import notification_pb2 as notification_pb2
from shop.stubs.notification.v1 import notification_pb2_grpc as notification_pb2_grpc
from shop.stubs.order.v1 import order_pb2 as order_pb2
from shop.stubs.order.v1 import order_pb2_grpc as order_pb2_grpc
from shop.stubs.payment.v1 import payment_pb2 as payment_pb2
from shop.stubs.payment.v1 import payment_pb2_grpc as payment_pb2_grpc
from shop.stubs.product.v1 import product_pb2 as product_pb2
from shop.stubs.product.v1 import product_pb2_grpc as product_pb2_grpc
from shop.stubs.type.v1 import address_pb2 as address_pb2
from shop.stubs.type.v1 import call_pb2 as call_pb2
from shop.stubs.type.v1 import money_pb2 as money_pb2
from shop.stubs.user.v1 import user_pb2 as user_pb2
from shop.stubs.user.v1 import user_pb2_grpc as user_pb2_grpc
