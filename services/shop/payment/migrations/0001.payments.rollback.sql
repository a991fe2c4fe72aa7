DROP TABLE shop_payment.payment;
