-- Events of orders that are not delivered yet: the statement that changes an order adds one, a delivery removes it.
-- depends: 0001.orders-and-checkouts

CREATE TABLE shop_order.outbox (
    -- Ascending within an order, whose row the change locks.
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- No foreign key: the statement that writes the row changes the order.
    order_id    bigint NOT NULL,
    user_id     bigint NOT NULL,
    status      text NOT NULL,
    happened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The traced call that caused it.
    traceparent text
);

-- Finds out whether an event is the first of its order.
CREATE INDEX outbox_by_order ON shop_order.outbox (order_id, id);

CREATE FUNCTION shop_order.tell_of_outbox() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('shop_outbox', '');
    RETURN NULL;
END
$$;

-- Wakes the relay at the commit.
CREATE TRIGGER tell_of_outbox AFTER INSERT ON shop_order.outbox
    FOR EACH STATEMENT EXECUTE FUNCTION shop_order.tell_of_outbox();
