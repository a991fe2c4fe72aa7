DROP TABLE shop_order.outbox;
DROP FUNCTION shop_order.tell_of_outbox();
