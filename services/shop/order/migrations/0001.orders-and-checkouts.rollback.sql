DROP TABLE shop_order.cancellation;
DROP TABLE shop_order.checkout;
DROP TABLE shop_order.order_line;
DROP TABLE shop_order.orders;
