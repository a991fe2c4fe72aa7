-- Tells the relay whether there are other events than those of placed orders, which their checkouts are about to confirm.
-- depends: 0002.outbox

CREATE OR REPLACE FUNCTION shop_order.tell_of_outbox() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('shop_outbox', CASE WHEN bool_and(status = 'PENDING') THEN 'PENDING' ELSE '' END) FROM told;
    RETURN NULL;
END
$$;

DROP TRIGGER tell_of_outbox ON shop_order.outbox;
CREATE TRIGGER tell_of_outbox AFTER INSERT ON shop_order.outbox
    REFERENCING NEW TABLE AS told FOR EACH STATEMENT EXECUTE FUNCTION shop_order.tell_of_outbox();
