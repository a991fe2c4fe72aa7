-- Whose payment it is, so that a read by id can be checked without asking the order service.
-- depends: 0001.payments

ALTER TABLE shop_payment.payment ADD COLUMN user_id bigint CHECK (user_id >= 1);

UPDATE shop_payment.payment p SET user_id = o.user_id FROM shop_order.orders o WHERE o.checkout_id = p.checkout_id;
UPDATE shop_payment.payment p SET user_id = c.user_id FROM shop_order.checkout c
WHERE c.id = p.checkout_id AND p.user_id IS NULL AND p.amount_minor > 0;

-- NULL only if the checkout was voided before it was authorised.
ALTER TABLE shop_payment.payment ADD CHECK (user_id IS NOT NULL OR status = 'VOIDED' AND amount_minor = 0);
