ALTER TABLE shop_product.product DROP CONSTRAINT product_stock_room;
