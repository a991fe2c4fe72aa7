DROP TABLE shop_product.reservation_line;
DROP TABLE shop_product.reservation;
DROP TABLE shop_product.review;
DROP TABLE shop_product.product;
