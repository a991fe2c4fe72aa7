-- Number of pieces ever put in: by adding the product, and by every change of its stock by hand. The audit compares it
-- with the pieces in stock, reserved and sold.
-- depends: 0003.documents

-- NULL if the previous version adds a product meanwhile, whose pieces are not counted.
ALTER TABLE shop_product.product ADD COLUMN stocked bigint;

UPDATE shop_product.product p
SET stocked = p.stock + p.sold + coalesce((
    SELECT sum(l.quantity)
    FROM shop_product.reservation_line l JOIN shop_product.reservation r ON r.id = l.reservation_id
    WHERE r.state = 'HELD' AND l.product_id = p.id
), 0);
