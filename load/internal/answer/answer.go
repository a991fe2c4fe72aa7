// Package answer holds the canonical form of every journey's answer, in which all protocols must agree.
//
// Fields are declared by ascending JSON name, so that encoding a struct gives sorted keys.
package answer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"hopwise/load/internal/journey"
)

// Answer is the canonical answer of one journey.
type Answer interface {
	// check says what is wrong with the answer to the journey asked for; its fields are known to be complete.
	check(q Question) error
}

// Money is an amount in the minor unit of its currency.
type Money struct {
	AmountMinor int64  `json:"amount_minor"`
	Currency    string `json:"currency"`
}

// Review is one review of a product.
type Review struct {
	ID     int64  `json:"id"`
	Rating int64  `json:"rating"`
	Title  string `json:"title"`
}

// BrowsedProduct is one product of a page.
type BrowsedProduct struct {
	ID      int64    `json:"id"`
	Price   Money    `json:"price"`
	Reviews []Review `json:"reviews"`
	Stock   int64    `json:"stock"`
	Title   string   `json:"title"`
}

// Browse answers browse: products by ascending id, their reviews too.
type Browse struct {
	Products []BrowsedProduct `json:"products"`
}

// Product answers product.
type Product struct {
	Category    string `json:"category"`
	Description string `json:"description"`
	ID          int64  `json:"id"`
	Price       Money  `json:"price"`
	Stock       int64  `json:"stock"`
	Title       string `json:"title"`
}

// Login answers login: the profile fetched with the token.
type Login struct {
	Email string `json:"email"`
	ID    int64  `json:"id"`
	Name  string `json:"name"`
}

// HistoryLine is one line of an order in the history, by line number.
type HistoryLine struct {
	ProductID int64  `json:"product_id"`
	Quantity  int64  `json:"quantity"`
	Title     string `json:"title"`
	UnitPrice Money  `json:"unit_price"`
}

// HistoryOrder is one order of the history.
type HistoryOrder struct {
	ID            int64         `json:"id"`
	Lines         []HistoryLine `json:"lines"`
	PaymentStatus string        `json:"payment_status"`
	PlacedAt      string        `json:"placed_at"`
	Status        string        `json:"status"`
	Total         Money         `json:"total"`
}

// OrderHistory answers order_history: orders, newest first.
type OrderHistory struct {
	Orders []HistoryOrder `json:"orders"`
}

// CheckoutLine is one line of a confirmed order, by line number.
type CheckoutLine struct {
	ProductID int64 `json:"product_id"`
	Quantity  int64 `json:"quantity"`
	UnitPrice Money `json:"unit_price"`
}

// Checkout answers checkout; the order's id differs from run to run and stays out of the canonical form.
type Checkout struct {
	Lines   []CheckoutLine `json:"lines"`
	OrderID int64          `json:"-"`
	Status  string         `json:"status"`
	Total   Money          `json:"total"`
}

// UpdateProfile answers update_profile.
type UpdateProfile struct {
	Address journey.Address `json:"address"`
	ID      int64           `json:"id"`
}

// Payment is how an order is paid.
type Payment struct {
	Amount Money  `json:"amount"`
	Status string `json:"status"`
}

// OrderStatus answers order_status.
type OrderStatus struct {
	ID      int64   `json:"id"`
	Payment Payment `json:"payment"`
	Status  string  `json:"status"`
	Total   Money   `json:"total"`
}

// BulkLine is an order line together with what it needs of its order.
type BulkLine struct {
	ID        int64  `json:"id"`
	OrderID   int64  `json:"order_id"`
	PlacedAt  string `json:"placed_at"`
	ProductID int64  `json:"product_id"`
	Quantity  int64  `json:"quantity"`
	Status    string `json:"status"`
	UnitPrice Money  `json:"unit_price"`
	UserID    int64  `json:"user_id"`
}

// BulkLines answers bulk_lines: lines by ascending id.
type BulkLines struct {
	Lines []BulkLine `json:"lines"`
}

// Canonical returns the canonical JSON of an answer: sorted keys, no spaces, UTF-8 unescaped.
func Canonical(a Answer) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(a); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// Digest returns the SHA-256 of canonical JSON, hexadecimal.
func Digest(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}
