"""What must be true of the shop's data, even after its processes were killed.

Each invariant is SQL over the schemas of all services, which only the administrator may read. It counts the rows that
it checks, and describes each row that violates it. An unfinished saga is exempt from the invariants about its result;
that each saga ends in time is an invariant too.
"""

# ruff: noqa: S608 - only constants are put into the statements

from __future__ import annotations

from dataclasses import dataclass

LIVE = "('CONFIRMED', 'SHIPPED', 'DELIVERED')"
# Checkouts and cancellations under way, by the id of their reservation and payment.
UNDER_WAY = """
    SELECT id FROM shop_order.checkout WHERE state IN ('RUNNING', 'UNDOING')
    UNION ALL
    SELECT o.checkout_id FROM shop_order.cancellation c JOIN shop_order.orders o ON o.id = c.order_id
    WHERE c.state = 'RUNNING'
"""
# Number of notifications for each customer since the seed, including the notifications dropped since.
TOLD_SINCE = """
    SELECT user_id, now.last_position - coalesce(seeded.last_position, 0) AS number
    FROM shop_notification.mailbox now LEFT JOIN shop_audit.told seeded USING (user_id)
"""
# Notifications that customers should have got since the seed, by order; none where the topology has no notifications.
DUE = f"""
    SELECT o.id AS order_id, o.user_id, CASE o.status
        WHEN 'PENDING' THEN ARRAY['PENDING']
        WHEN 'SHIPPED' THEN ARRAY['PENDING', 'CONFIRMED', 'SHIPPED']
        WHEN 'DELIVERED' THEN ARRAY['PENDING', 'CONFIRMED', 'SHIPPED', 'DELIVERED']
        WHEN 'CANCELLED' THEN ARRAY['PENDING', 'CONFIRMED', 'CANCELLED']
        ELSE ARRAY['PENDING', 'CONFIRMED'] END AS statuses
    FROM shop_order.orders o
    WHERE o.id > (SELECT last_order_id FROM shop_audit.seeded)
        AND (
            EXISTS (SELECT FROM ({TOLD_SINCE}) since WHERE number > 0)
            OR EXISTS (SELECT FROM shop_order.outbox)
        )
        AND o.user_id NOT IN (SELECT id FROM shop_shared.deleted_user)
"""
# Notifications that customers got, or will get: an event stays in the outbox until it is known to be delivered.
TOLD = """
    SELECT user_id, order_id, status, position, 0::bigint AS waiting FROM shop_notification.notification
    UNION ALL
    SELECT user_id, order_id, status, NULL, id FROM shop_order.outbox
    WHERE id NOT IN (SELECT event_id FROM shop_notification.notification)
"""


@dataclass(frozen=True, slots=True)
class Invariant:
    """One promise about the data.

    Attributes:
        name: Short name, stable, for programs.
        promise: The invariant in one sentence.
        broken: SQL with one text column, a row for each violation.
        needs: The temporary table that it reads in addition to the shop's tables; empty for none.
    """

    name: str
    promise: str
    checked: str
    broken: str
    needs: str = ""


INVARIANTS = (
    Invariant(
        "stock_conserved",
        "Every product's stock, held and sold pieces add up to those ever put in",
        "SELECT count(stocked) FROM shop_product.product",
        """
        SELECT format('product %s: %s in stock + %s held + %s sold, not %s', p.id, p.stock, coalesce(h.pieces, 0),
            p.sold, p.stocked)
        FROM shop_product.product p
        LEFT JOIN (
            SELECT l.product_id, sum(l.quantity) AS pieces
            FROM shop_product.reservation_line l JOIN shop_product.reservation r ON r.id = l.reservation_id
            WHERE r.state = 'HELD' GROUP BY l.product_id
        ) h ON h.product_id = p.id
        WHERE p.stock + coalesce(h.pieces, 0) + p.sold <> p.stocked
        """,
    ),
    Invariant(
        "sold_counted",
        "Every product's sold pieces are those of the orders that were confirmed and not cancelled",
        "SELECT count(*) FROM shop_product.product",
        f"""
        SELECT format('product %s: %s sold, %s in orders', p.id, p.sold, coalesce(s.pieces, 0))
        FROM shop_product.product p
        LEFT JOIN (
            SELECT l.product_id, sum(l.quantity) AS pieces
            FROM shop_order.order_line l
            JOIN shop_order.orders o ON o.id = l.order_id
            LEFT JOIN shop_product.reservation r ON r.id = o.checkout_id
            -- A saga under way may have moved the stock already: then the reservation says where it is.
            WHERE CASE WHEN o.checkout_id IN ({UNDER_WAY}) THEN r.state = 'CONFIRMED' ELSE o.status IN {LIVE} END
            GROUP BY l.product_id
        ) s ON s.product_id = p.id
        WHERE p.sold <> coalesce(s.pieces, 0)
        """,
    ),
    Invariant(
        "orders_reserved",
        "Every live order has a confirmed reservation of the same lines, and every confirmed reservation such an order",
        "SELECT count(*) FROM shop_product.reservation WHERE state = 'CONFIRMED'",
        f"""
        SELECT format('checkout %s: order line and reserved line of product %s differ',
            coalesce(o.checkout_id, r.checkout_id), coalesce(o.product_id, r.product_id))
        FROM (
            SELECT o.checkout_id, l.product_id, l.quantity, l.unit_price_minor AS price, o.currency
            FROM shop_order.orders o JOIN shop_order.order_line l ON l.order_id = o.id
            WHERE o.status IN {LIVE}
        ) o
        FULL JOIN (
            SELECT r.id AS checkout_id, l.product_id, l.quantity, l.unit_price_minor AS price, l.currency
            FROM shop_product.reservation r JOIN shop_product.reservation_line l ON l.reservation_id = r.id
            WHERE r.state = 'CONFIRMED'
        ) r USING (checkout_id, product_id)
        WHERE (o.quantity, o.price, o.currency) IS DISTINCT FROM (r.quantity, r.price, r.currency)
            AND checkout_id NOT IN ({UNDER_WAY})
        """,
    ),
    Invariant(
        "captured_belongs",
        "Every captured payment belongs to exactly one live order of the same checkout and amount",
        "SELECT count(*) FROM shop_payment.payment WHERE status = 'CAPTURED'",
        f"""
        SELECT format('payment %s of order %s: %s live orders match', p.id, p.order_id, count(o.id))
        FROM shop_payment.payment p
        LEFT JOIN shop_order.orders o ON o.id = p.order_id AND o.checkout_id = p.checkout_id
            AND o.status IN {LIVE} AND (o.total_minor, o.currency) = (p.amount_minor, p.currency)
        WHERE p.status = 'CAPTURED' AND p.checkout_id NOT IN ({UNDER_WAY})
        GROUP BY p.id HAVING count(o.id) <> 1
        """,
    ),
    Invariant(
        "payments_of_buyers",
        "Every payment of an order or checkout is its buyer's",
        "SELECT count(*) FROM shop_payment.payment",
        """
        SELECT format('payment %s is user %s''s, its buyer is user %s', p.id, p.user_id, coalesce(o.user_id, c.user_id))
        FROM shop_payment.payment p
        LEFT JOIN shop_order.orders o ON o.checkout_id = p.checkout_id
        LEFT JOIN shop_order.checkout c ON c.id = p.checkout_id
        -- A payment that was voided before it was authorised has no user; a constraint covers all others.
        WHERE p.user_id <> coalesce(o.user_id, c.user_id)
        """,
    ),
    Invariant(
        "orders_paid",
        "Every live order has exactly one captured payment",
        f"SELECT count(*) FROM shop_order.orders WHERE status IN {LIVE}",
        f"""
        SELECT format('order %s is %s and has %s captured payments', o.id, o.status, count(p.id))
        FROM shop_order.orders o
        LEFT JOIN shop_payment.payment p ON p.order_id = o.id AND p.status = 'CAPTURED'
        WHERE o.status IN {LIVE} GROUP BY o.id HAVING count(p.id) <> 1
        """,
    ),
    Invariant(
        "cancelled_given_back",
        "Every cancelled order's payment is voided and its stock released",
        "SELECT count(*) FROM shop_order.orders WHERE status = 'CANCELLED'",
        f"""
        SELECT format('order %s is CANCELLED, its payment %s, its reservation %s', o.id,
            coalesce(p.status, 'missing'), coalesce(r.state, 'missing'))
        FROM shop_order.orders o
        LEFT JOIN shop_payment.payment p ON p.checkout_id = o.checkout_id
        LEFT JOIN shop_product.reservation r ON r.id = o.checkout_id
        WHERE o.status = 'CANCELLED' AND o.checkout_id NOT IN ({UNDER_WAY})
            AND (p.status, r.state) IS DISTINCT FROM ('VOIDED', 'RELEASED')
        """,
    ),
    Invariant(
        "orders_add_up",
        "Every order has lines numbered from 1, and its total is their sum",
        "SELECT count(*) FROM shop_order.orders",
        """
        SELECT format('order %s: total %s, %s lines worth %s', o.id, o.total_minor, count(l.id),
            coalesce(sum(l.quantity * l.unit_price_minor), 0))
        FROM shop_order.orders o LEFT JOIN shop_order.order_line l ON l.order_id = o.id
        GROUP BY o.id
        HAVING o.total_minor IS DISTINCT FROM sum(l.quantity * l.unit_price_minor)
            OR max(l.line_number) IS DISTINCT FROM count(l.id)
        """,
    ),
    Invariant(
        "one_order_per_checkout",
        "Every order since the seed comes from its own completed checkout of the same user, and the other way round",
        "SELECT count(*) FROM shop_order.checkout WHERE state = 'COMPLETED'",
        """
        SELECT format('order %s and checkout %s do not belong together',
            coalesce(o.id::text, 'missing'), coalesce(c.id::text, 'missing'))
        FROM (SELECT * FROM shop_order.orders WHERE id > (SELECT last_order_id FROM shop_audit.seeded)) o
        FULL JOIN (SELECT * FROM shop_order.checkout WHERE order_id IS NOT NULL OR state = 'COMPLETED') c
            ON c.id = o.checkout_id
        WHERE (o.id, o.user_id) IS DISTINCT FROM (c.order_id, c.user_id)
            OR c.state <> 'COMPLETED' AND o.status <> 'PENDING'
        """,
    ),
    Invariant(
        "nothing_pending",
        "No order is PENDING unless its checkout is under way",
        "SELECT count(*) FROM shop_order.orders",
        f"""
        SELECT format('order %s is PENDING', id) FROM shop_order.orders
        WHERE status = 'PENDING' AND checkout_id NOT IN ({UNDER_WAY})
        """,
    ),
    Invariant(
        "nothing_held",
        "No stock is held unless its checkout is under way",
        "SELECT count(*) FROM shop_product.reservation",
        f"""
        SELECT format('reservation %s is HELD', id) FROM shop_product.reservation
        WHERE state = 'HELD' AND id NOT IN ({UNDER_WAY})
        """,
    ),
    Invariant(
        "nothing_authorized",
        "No payment is only authorised unless its checkout is under way",
        "SELECT count(*) FROM shop_payment.payment",
        f"""
        SELECT format('payment %s is AUTHORIZED', id) FROM shop_payment.payment
        WHERE status = 'AUTHORIZED' AND checkout_id NOT IN ({UNDER_WAY})
        """,
    ),
    Invariant(
        "sagas_end",
        "No checkout or cancellation is under way for longer than the grace period",
        "SELECT (SELECT count(*) FROM shop_order.checkout) + (SELECT count(*) FROM shop_order.cancellation)",
        """
        SELECT format('checkout %s has been %s at %s since %s', id, state, step, updated_at)
        FROM shop_order.checkout, grace
        WHERE state IN ('RUNNING', 'UNDOING') AND updated_at < now() - make_interval(secs => grace.seconds)
        UNION ALL
        SELECT format('cancellation of order %s has been %s since %s', order_id, state, updated_at)
        FROM shop_order.cancellation, grace
        WHERE state = 'RUNNING' AND updated_at < now() - make_interval(secs => grace.seconds)
        """,
    ),
    Invariant(
        "updates_told",
        "Every buyer got each status of an order since the seed once and in order, as far as notifications are kept",
        f"SELECT count(*) FROM ({DUE}) due",
        f"""
        SELECT format('order %s: told %s, not %s', due.order_id, told.statuses, due.statuses)
        FROM ({DUE}) due
        LEFT JOIN shop_notification.mailbox USING (user_id)
        LEFT JOIN (
            SELECT order_id, array_agg(status ORDER BY position NULLS LAST, waiting) AS statuses, count(*) AS number
            FROM ({TOLD}) told GROUP BY order_id
        ) told USING (order_id)
        WHERE told.statuses IS DISTINCT FROM due.statuses AND (
            coalesce(last_position, 0) <= 100
            OR told.statuses IS DISTINCT FROM due.statuses[cardinality(due.statuses) - told.number + 1:]
                AND told.statuses IS NOT NULL
        )
        """,
    ),
    Invariant(
        "updates_counted",
        "Every buyer has as many notifications as orders changed since the seed, including those still waiting",
        f"SELECT count(DISTINCT user_id) FROM ({DUE}) due",
        f"""
        SELECT format('user %s: %s changes, %s told and %s waiting', user_id, due.changes,
            coalesce(since.number, 0), coalesce(waiting.number, 0))
        FROM (SELECT user_id, sum(cardinality(statuses)) AS changes FROM ({DUE}) due GROUP BY user_id) due
        LEFT JOIN ({TOLD_SINCE}) since USING (user_id)
        LEFT JOIN (
            SELECT user_id, count(*) AS number FROM ({TOLD}) told WHERE waiting > 0 GROUP BY user_id
        ) waiting USING (user_id)
        WHERE due.changes <> coalesce(since.number, 0) + coalesce(waiting.number, 0)
        """,
    ),
    Invariant(
        "acknowledged_kept",
        "Every checkout that a client saw succeed has its order, for the same user and key",
        "SELECT count(*) FROM acknowledged",
        f"""
        SELECT format('order %s, acknowledged in line %s: %s', a.order_id, a.line,
            CASE WHEN o.id IS NULL THEN 'missing' WHEN o.status = 'PENDING' THEN 'PENDING'
                ELSE 'of another checkout' END)
        FROM acknowledged a
        LEFT JOIN shop_order.orders o ON o.id = a.order_id
        LEFT JOIN shop_order.checkout c ON c.order_id = o.id
        WHERE (o.status IN {LIVE} OR o.status = 'CANCELLED') IS NOT TRUE OR c.id IS NULL
            OR coalesce(a.user_id, c.user_id) IS DISTINCT FROM c.user_id
            OR coalesce(a.idempotency_key, c.idempotency_key) IS DISTINCT FROM c.idempotency_key
        """,
        needs="acknowledged",
    ),
    Invariant(
        "acknowledged_once",
        "No order was acknowledged for two different checkouts, and no checkout with two orders",
        "SELECT count(DISTINCT order_id) FROM acknowledged",
        """
        SELECT format('order %s was acknowledged for %s checkouts', order_id, count(DISTINCT checkout))
        FROM acknowledged GROUP BY order_id HAVING count(DISTINCT checkout) > 1
        UNION ALL
        SELECT format('checkout %s was acknowledged with %s orders', checkout, count(DISTINCT order_id))
        FROM acknowledged GROUP BY checkout HAVING count(DISTINCT order_id) > 1
        """,
        needs="acknowledged",
    ),
)
