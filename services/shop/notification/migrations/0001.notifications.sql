-- Customers' notifications of their orders. Runs as the schema's owner; the service's role may only read and write rows.
-- depends:

GRANT USAGE ON SCHEMA shop_shared TO shop_notification;
GRANT SELECT ON shop_shared.deleted_user TO shop_notification;

-- One row for each customer with notifications. A transaction that adds notifications holds its lock until the commit, so
-- that they become visible in the order of their positions.
CREATE TABLE shop_notification.mailbox (
    user_id       bigint PRIMARY KEY CHECK (user_id >= 1),
    last_position bigint NOT NULL CHECK (last_position >= 1)
) WITH (fillfactor = 70);  -- each notification rewrites a row: leave room on its page

-- The last notifications of each customer.
CREATE TABLE shop_notification.notification (
    user_id     bigint NOT NULL REFERENCES shop_notification.mailbox (user_id),
    position    bigint NOT NULL CHECK (position >= 1),
    -- The order service's number of the event: a repeated delivery finds it here.
    event_id    bigint NOT NULL UNIQUE,
    order_id    bigint NOT NULL CHECK (order_id >= 1),
    status      text NOT NULL CHECK (status IN ('PENDING', 'CONFIRMED', 'SHIPPED', 'DELIVERED', 'CANCELLED')),
    happened_at timestamptz NOT NULL,
    read        boolean NOT NULL DEFAULT false,
    -- The trace that follows it, and when it began to wait here for its watchers.
    traceparent text,
    added_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (user_id, position)
);
