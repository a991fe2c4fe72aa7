-- Stock leaves room: giving reserved pieces back can never overflow it.
-- depends: 0001.catalogue-and-reservations

UPDATE shop_product.product SET stock = 1000000000 WHERE stock > 1000000000;

-- A thousand million times the maximum that can be set by hand, so that reserved pieces can always be returned.
ALTER TABLE shop_product.product ADD CONSTRAINT product_stock_room CHECK (stock <= 1000000000000000000);
