CREATE OR REPLACE FUNCTION shop_order.tell_of_outbox() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('shop_outbox', '');
    RETURN NULL;
END
$$;

DROP TRIGGER tell_of_outbox ON shop_order.outbox;
CREATE TRIGGER tell_of_outbox AFTER INSERT ON shop_order.outbox
    FOR EACH STATEMENT EXECUTE FUNCTION shop_order.tell_of_outbox();
