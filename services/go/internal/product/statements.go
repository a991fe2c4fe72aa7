package product

import "hopwise/services/internal/database"

// SpanNames name the spans of the statements: operation and table.
var SpanNames = make(database.SpanNames)

func register(spanName, sql string) string {
	SpanNames[sql] = spanName
	return sql
}

const (
	columns = "id, title, description, category, price_minor, currency, stock"

	// A product has a row for each review, and a single row if there are no reviews.
	withReviewsSQL = "SELECT product.*, review.id, review.user_id, review.rating, review.title, review.body FROM ("
	reviewsOfSQL   = `) AS product LEFT JOIN LATERAL (
        SELECT * FROM review WHERE review.product_id = product.id ORDER BY review.id LIMIT `
	byIDSQL = `
    ) AS review ON true
    ORDER BY product.id, review.id`
)

// Every implementation of the catalogue has these statements, so that implementations differ only in their code.
var (
	getSQL            = register("SELECT product", "SELECT "+columns+" FROM product WHERE id = $1")
	batchGetSQL       = register("SELECT product", "SELECT "+columns+" FROM product WHERE id = ANY($1::bigint[])")
	pageSQL           = register("SELECT product", "SELECT "+columns+" FROM product WHERE id > $1 ORDER BY id LIMIT $2")
	pageOfCategorySQL = register("SELECT product",
		"SELECT "+columns+" FROM product WHERE category = $3 AND id > $1 ORDER BY id LIMIT $2")

	batchGetWithReviewsSQL       = register("SELECT product", withReviewsSQL+batchGetSQL+reviewsOfSQL+"$2"+byIDSQL)
	pageWithReviewsSQL           = register("SELECT product", withReviewsSQL+pageSQL+reviewsOfSQL+"$3"+byIDSQL)
	pageOfCategoryWithReviewsSQL = register("SELECT product", withReviewsSQL+pageOfCategorySQL+reviewsOfSQL+"$4"+byIDSQL)

	addSQL = register("INSERT product", `
    INSERT INTO product (title, description, category, price_minor, currency, stock, stocked)
    VALUES ($1, $2, $3, $4, $5, $6, $6)
    RETURNING `+columns)
	changeSQL = register("UPDATE product", `
    UPDATE product
    SET title = coalesce($2, title), description = coalesce($3, description), category = coalesce($4, category),
        price_minor = coalesce($5, price_minor), currency = coalesce($6, currency), stock = coalesce($7, stock),
        stocked = stocked + coalesce($7 - $13, 0)
    WHERE id = $1 AND (
        $8::text IS NULL
        OR (title, description, category, price_minor, currency, stock) = ($8, $9, $10, $11, $12, $13::bigint)
    )
    RETURNING `+columns)
	reviewsSQL = register("SELECT review", `
    SELECT first.id, first.product_id, first.user_id, first.rating, first.title, first.body
    FROM unnest($1::bigint[]) AS wanted (product_id)
    CROSS JOIN LATERAL (
        SELECT * FROM review WHERE review.product_id = wanted.product_id ORDER BY review.id LIMIT $2
    ) AS first
    ORDER BY first.product_id, first.id`)
	rowsSQL = register("SELECT product",
		"SELECT id, title, price_minor, currency, stock FROM product WHERE id > $1 ORDER BY id LIMIT $2")
	documentSQL = register("SELECT document_record", `
    SELECT section, text, count, value, ok, at, price_minor, currency
    FROM document_record WHERE document_id = $1 ORDER BY number`)

	claimSQL = register("INSERT reservation",
		"INSERT INTO reservation (id, state) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING RETURNING id")
	findLockedSQL = register("SELECT reservation", `
    SELECT reservation.state, line.product_id, line.quantity, line.unit_price_minor, line.currency
    FROM reservation LEFT JOIN reservation_line AS line ON line.reservation_id = reservation.id
    WHERE reservation.id = $1
    ORDER BY line.product_id
    FOR UPDATE OF reservation`)
	productsLockedSQL = register("SELECT product",
		"SELECT "+columns+" FROM product WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE")
	takeSQL = register("INSERT reservation_line", `
    WITH line AS (
        SELECT * FROM unnest($2::bigint[], $3::int[], $4::bigint[], $5::text[])
            AS line (product_id, quantity, unit_price_minor, currency)
    ), taken AS (
        UPDATE product SET stock = stock - line.quantity FROM line WHERE product.id = line.product_id
    )
    INSERT INTO reservation_line (reservation_id, product_id, quantity, unit_price_minor, currency)
    SELECT $1, product_id, quantity, unit_price_minor, currency FROM line`)
	// One statement locks the products in the order of their ids and then changes them and the reservation.
	moveSQL = register("UPDATE product", `
    WITH moved AS (
        UPDATE reservation SET state = $2 WHERE id = $1
    ), locked AS MATERIALIZED (
        SELECT id FROM product WHERE id = ANY($3::bigint[]) ORDER BY id FOR UPDATE
    )
    UPDATE product
    SET stock = stock + line.quantity * $5, sold = sold + line.quantity * $6
    FROM locked JOIN unnest($3::bigint[], $4::bigint[]) AS line (product_id, quantity) ON line.product_id = locked.id
    WHERE product.id = locked.id`)
	isHeldSQL = register("SELECT reservation_line", `
    SELECT EXISTS (
        SELECT FROM reservation_line AS line JOIN reservation ON reservation.id = line.reservation_id
        WHERE line.product_id = $1 AND reservation.state = 'HELD')`)
	deleteSQL = register("DELETE product", "DELETE FROM product WHERE id = $1")
)
