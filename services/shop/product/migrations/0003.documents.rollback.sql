DROP TABLE shop_product.document_record;
