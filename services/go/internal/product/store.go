package product

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "hopwise/proto/stubs/productv1"
	"hopwise/proto/stubs/typev1"
	"hopwise/services/internal/database"
	"hopwise/services/internal/lists"
	"hopwise/services/internal/shoperr"
)

// store gives access to the catalogue's tables.
type store struct{ pool *pgxpool.Pool }

// querier is a pool, or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// many returns the rows of a statement.
func many[T any](ctx context.Context, q querier, of pgx.RowToFunc[*T], sql string, args ...any) ([]*T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err == nil {
		var all []*T
		if all, err = pgx.CollectRows(rows, of); err == nil {
			return all, nil
		}
	}
	return nil, database.ClientError(ctx, err)
}

// one returns the only row of a statement; nil if there is none.
func one[T any](ctx context.Context, q querier, of pgx.RowToFunc[*T], sql string, args ...any) (*T, error) {
	found, err := many(ctx, q, of, sql, args...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

func productOf(row pgx.CollectableRow) (*pb.Product, error) {
	p := &pb.Product{Price: &typev1.Money{}}
	err := row.Scan(&p.Id, &p.Title, &p.Description, &p.Category, &p.Price.AmountMinor, &p.Price.Currency, &p.Stock)
	return p, err
}

func reviewOf(row pgx.CollectableRow) (*pb.Review, error) {
	r := new(pb.Review)
	return r, row.Scan(&r.Id, &r.ProductId, &r.UserId, &r.Rating, &r.Title, &r.Body)
}

func rowOf(row pgx.CollectableRow) (*pb.ProductRow, error) {
	r := &pb.ProductRow{Price: &typev1.Money{}}
	return r, row.Scan(&r.ProductId, &r.Title, &r.Price.AmountMinor, &r.Price.Currency, &r.Stock)
}

// readReviewed runs a statement that returns a row for each review of a product, and returns the products.
func (s store) readReviewed(ctx context.Context, sql string, args ...any) ([]*pb.ReviewedProduct, error) {
	var products []*pb.ReviewedProduct
	_, err := many(ctx, s.pool, func(row pgx.CollectableRow) (*pb.ReviewedProduct, error) {
		p := &pb.ReviewedProduct{Price: &typev1.Money{}}
		var id, user *int64
		var rating *int32
		var title, body *string
		err := row.Scan(&p.Id, &p.Title, &p.Description, &p.Category, &p.Price.AmountMinor, &p.Price.Currency, &p.Stock,
			&id, &user, &rating, &title, &body)
		if err != nil {
			return nil, err
		}
		if len(products) == 0 || products[len(products)-1].Id != p.Id {
			products = append(products, p)
		}
		if id != nil {
			p = products[len(products)-1]
			review := &pb.Review{Id: *id, ProductId: p.Id, UserId: *user, Rating: *rating, Title: *title, Body: *body}
			p.Reviews = append(p.Reviews, review)
		}
		return p, nil
	}, sql, args...)
	return products, err
}

func (s store) add(ctx context.Context, p *pb.Product) (*pb.Product, error) {
	price := p.GetPrice()
	return one(ctx, s.pool, productOf, addSQL,
		p.Title, p.Description, p.Category, price.GetAmountMinor(), price.GetCurrency(), p.Stock)
}

// change changes a product; it returns nil if the product does not exist, or differs from a given expected product.
func (s store) change(ctx context.Context, id int64, c change, expected *pb.Product) (*pb.Product, error) {
	var e change
	if expected != nil {
		e, _ = changeOf(expected, changeable)
	}
	return one(ctx, s.pool, productOf, changeSQL, id, c.title, c.description, c.category, c.amount, c.currency, c.stock,
		e.title, e.description, e.category, e.amount, e.currency, e.stock)
}

// document returns a technical document; nil if there is none.
func (s store) document(ctx context.Context, id int64) (*pb.Document, error) {
	document := &pb.Document{Id: id}
	records, err := many(ctx, s.pool, func(row pgx.CollectableRow) (*pb.DocumentRecord, error) {
		record := new(pb.DocumentRecord)
		var title string
		var at *time.Time
		var amount *int64
		var currency *string
		err := row.Scan(&title, &record.Text, &record.Count, &record.Value, &record.Ok, &at, &amount, &currency)
		if err != nil {
			return nil, err
		}
		if at != nil {
			record.At = &timestamppb.Timestamp{Seconds: at.Unix()}
		}
		if amount != nil && currency != nil {
			record.Price = &typev1.Money{AmountMinor: *amount, Currency: *currency}
		}
		sections := document.Sections
		if len(sections) == 0 || sections[len(sections)-1].Title != title {
			document.Sections = append(sections, &pb.DocumentSection{Title: title})
		}
		section := document.Sections[len(document.Sections)-1]
		section.Records = append(section.Records, record)
		return record, nil
	}, documentSQL, id)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	return document, nil
}

// inTransaction does work on stock, atomically.
//
// A reservation is always locked before its products, and products in the order of their ids, so that two transactions
// never wait for each other.
func (s store) inTransaction(ctx context.Context, work func(stock) error) error {
	return database.InTransaction(ctx, s.pool, func(tx pgx.Tx) error { return work(stock{tx}) })
}

type stock struct{ tx pgx.Tx }

// claim adds a reservation without lines. It waits for rival claims of the id, and returns false if the id exists.
func (s stock) claim(ctx context.Context, id string, state pb.ReservationState) (bool, error) {
	tag, err := s.tx.Exec(ctx, claimSQL, id, nameOf(state))
	return tag.RowsAffected() > 0, err
}

// findLocked locks and returns a reservation with its lines, in order of product id.
func (s stock) findLocked(ctx context.Context, id string) (*pb.Reservation, error) {
	reservation := &pb.Reservation{Id: id}
	rows, err := s.tx.Query(ctx, findLockedSQL, id)
	if err != nil {
		return nil, err
	}
	var state string
	var productID, amount *int64
	var quantity *int32
	var currency *string
	tag, err := pgx.ForEachRow(rows, []any{&state, &productID, &quantity, &amount, &currency}, func() error {
		if productID != nil {
			price := &typev1.Money{AmountMinor: *amount, Currency: *currency}
			line := &pb.ReservedLine{ProductId: *productID, Quantity: *quantity, UnitPrice: price}
			reservation.Lines = append(reservation.Lines, line)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if tag.RowsAffected() == 0 {
		return nil, shoperr.New(shoperr.NotFound, "reservation_id", "reservation %s does not exist", id)
	}
	reservation.State = stateOf(state)
	return reservation, nil
}

func (s stock) productsLocked(ctx context.Context, ids []int64) ([]*pb.Product, error) {
	return many(ctx, s.tx, productOf, productsLockedSQL, ids)
}

// take removes stock from the locked products, and adds the lines to the reservation.
func (s stock) take(ctx context.Context, reservation *pb.Reservation) error {
	ids, quantities := columnsOf(reservation)
	amounts := lists.Map(reservation.Lines, func(l *pb.ReservedLine) int64 { return l.UnitPrice.AmountMinor })
	currencies := lists.Map(reservation.Lines, func(l *pb.ReservedLine) string { return l.UnitPrice.Currency })
	_, err := s.tx.Exec(ctx, takeSQL, reservation.Id, ids, quantities, amounts, currencies)
	return err
}

// move changes a reservation's state. It adds the reserved quantity, multiplied by stock, to the column stock, and the
// same quantity, multiplied by sold, to the column sold.
func (s stock) move(ctx context.Context, reservation *pb.Reservation, to pb.ReservationState, stock, sold int64) error {
	ids, quantities := columnsOf(reservation)
	_, err := s.tx.Exec(ctx, moveSQL, reservation.Id, nameOf(to), ids, quantities, stock, sold)
	return err
}

// columnsOf returns the products of a reservation's lines and their quantities as arrays for a statement, never nil.
func columnsOf(reservation *pb.Reservation) (ids []int64, quantities []int32) {
	return lists.Map(reservation.Lines, (*pb.ReservedLine).GetProductId), lists.Map(reservation.Lines, (*pb.ReservedLine).GetQuantity)
}

// statePrefix is the prefix of the contract's names of states; the database has the names without it.
const statePrefix = "RESERVATION_STATE_"

func nameOf(state pb.ReservationState) string { return strings.TrimPrefix(state.String(), statePrefix) }

func stateOf(name string) pb.ReservationState {
	return pb.ReservationState(pb.ReservationState_value[statePrefix+name])
}
