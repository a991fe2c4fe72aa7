ALTER TABLE shop_product.product DROP COLUMN stocked;
