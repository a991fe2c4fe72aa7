ALTER TABLE shop_payment.payment DROP COLUMN user_id;
