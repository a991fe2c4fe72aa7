// Package shop holds the shop's resources in canonical form, independent of the protocol, and the services' methods for
// clients.
//
// The names in JSON are the same as in the REST APIs.
package shop

import (
	"cmp"
	"slices"
	"time"
)

// Money is an amount in the minor unit of its currency.
type Money struct {
	AmountMinor int64  `json:"amount_minor"`
	Currency    string `json:"currency"`
}

// Address is a postal address; its fields are in the order of the canonical form.
type Address struct {
	City        string `json:"city"`
	CountryCode string `json:"country_code"`
	PostalCode  string `json:"postal_code"`
	Recipient   string `json:"recipient"`
	Street      string `json:"street"`
}

// Review is one review of a product; its fields are in the order of the canonical form.
type Review struct {
	ID     int64  `json:"id"`
	Rating int64  `json:"rating"`
	Title  string `json:"title"`
}

type Product struct {
	ID          int64    `json:"id"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Category    string   `json:"category"`
	Price       Money    `json:"price"`
	Stock       int64    `json:"stock"`
	Reviews     []Review `json:"reviews"` // if they were requested
}

// Document is a technical document; its fields and its parts' fields are in the order of the canonical form.
type Document struct {
	ID       int64             `json:"id"`
	Sections []DocumentSection `json:"sections"`
}

// DocumentSection is the content below one heading.
type DocumentSection struct {
	Records []DocumentRecord `json:"records"`
	Title   string           `json:"title"`
}

// DocumentRecord is the record of one test; unknown values are left out.
type DocumentRecord struct {
	At    Instant `json:"at,omitempty"`
	Count int64   `json:"count"`
	OK    bool    `json:"ok"`
	Price *Money  `json:"price,omitempty"`
	Text  string  `json:"text"`
	Value float64 `json:"value"`
}

type Order struct {
	ID       int64       `json:"id"`
	UserID   int64       `json:"user_id"`
	Status   string      `json:"status"`
	PlacedAt Instant     `json:"placed_at"`
	Total    Money       `json:"total"`
	Lines    []OrderLine `json:"lines"`
	Payment  Payment     `json:"-"` // if it was joined
}

type OrderLine struct {
	LineNumber int64  `json:"line_number"`
	ProductID  int64  `json:"product_id"`
	Title      string `json:"-"` // of the product, if it was joined
	Quantity   int64  `json:"quantity"`
	UnitPrice  Money  `json:"unit_price"`
}

func (o *Order) SortLines() {
	slices.SortFunc(o.Lines, func(a, b OrderLine) int { return cmp.Compare(a.LineNumber, b.LineNumber) })
}

// Join fills in the titles of the order's lines and the payment, if they are given.
func (o *Order) Join(titles map[int64]string, payments []Payment) {
	for i, line := range o.Lines {
		o.Lines[i].Title = titles[line.ProductID]
	}
	for _, payment := range payments {
		if payment.OrderID == o.ID {
			o.Payment = payment
		}
	}
}

type Payment struct {
	OrderID int64  `json:"order_id"`
	Status  string `json:"status"`
	Amount  Money  `json:"amount"`
}

type User struct {
	ID      int64   `json:"id"`
	Email   string  `json:"email"`
	Name    string  `json:"name"`
	Address Address `json:"address"`
}

type Session struct {
	Token string `json:"token"`
	User  User   `json:"user"`
}

// Notification is a customer's notification about an order; its fields are in the order of the canonical form.
type Notification struct {
	CreatedAt Instant `json:"created_at"`
	OrderID   int64   `json:"order_id"`
	Position  int64   `json:"position"`
	Read      bool    `json:"read"`
	Status    string  `json:"status"`
}

// ExportedLine is an order line with fields of its order; its fields are in the order of the canonical form.
type ExportedLine struct {
	ID        int64   `json:"id"`
	OrderID   int64   `json:"order_id"`
	PlacedAt  Instant `json:"placed_at"`
	ProductID int64   `json:"product_id"`
	Quantity  int64   `json:"quantity"`
	Status    string  `json:"status"`
	UnitPrice Money   `json:"unit_price"`
	UserID    int64   `json:"user_id"`
}

type Item struct {
	ProductID int64 `json:"product_id"`
	Quantity  int64 `json:"quantity"`
}

type Purchase struct {
	UserID         int64
	Items          []Item
	IdempotencyKey string
}

// Mapped returns what a function makes of each value, such as the canonical forms of messages.
func Mapped[From, To any](all []From, convert func(From) To) []To {
	made := make([]To, len(all))
	for i, one := range all {
		made[i] = convert(one)
	}
	return made
}

// Instant is a time in canonical form (UTC, whole seconds); empty if an answer has another text for it.
type Instant string

// UnmarshalText reads a time of any zone in RFC 3339 format.
func (i *Instant) UnmarshalText(text []byte) error {
	*i = ""
	if at, err := time.Parse(time.RFC3339, string(text)); err == nil && at.Nanosecond() == 0 {
		*i = InstantOf(at)
	}
	return nil
}

// InstantOf returns a time of whole seconds in canonical form.
func InstantOf(at time.Time) Instant { return Instant(at.UTC().Format(time.RFC3339)) }
