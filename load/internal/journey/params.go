package journey

import "fmt"

// Params are the parameters of one journey; which of them are set depends on the journey.
type Params struct {
	Category       string   `json:"category,omitempty"`
	ProductID      int64    `json:"product_id,omitempty"`
	UserID         int64    `json:"user_id,omitempty"`
	OrderID        int64    `json:"order_id,omitempty"`
	AfterLineID    *int64   `json:"after_line_id,omitempty"` // a pointer because 0 is a position too
	Lines          []Line   `json:"lines,omitempty"`
	IdempotencyKey string   `json:"idempotency_key,omitempty"`
	Address        *Address `json:"address,omitempty"`
}

// Line is one product of a checkout.
type Line struct {
	ProductID int64 `json:"product_id"`
	Quantity  int64 `json:"quantity"`
}

// Address is a postal address; its fields are in the order of the canonical form.
type Address struct {
	City        string `json:"city"`
	CountryCode string `json:"country_code"`
	PostalCode  string `json:"postal_code"`
	Recipient   string `json:"recipient"`
	Street      string `json:"street"`
}

// Check returns an error that names the parameter which the journey needs and does not have.
func (p Params) Check(n Name) error {
	missing := func(field string) error { return fmt.Errorf("journey %q needs the parameter %q", n, field) }
	switch {
	case n == Browse && p.Category == "":
		return missing("category")
	case n == Product && p.ProductID < 1:
		return missing("product_id")
	case n.actsForUser() && p.UserID < 1:
		return missing("user_id")
	case n == Checkout && len(p.Lines) == 0:
		return missing("lines")
	case n == Checkout && p.IdempotencyKey == "":
		return missing("idempotency_key")
	case n == UpdateProfile && p.Address == nil:
		return missing("address")
	case n == OrderStatus && p.OrderID < 1:
		return missing("order_id")
	case n == BulkLines && p.AfterLineID == nil:
		return missing("after_line_id")
	}
	return nil
}

func (n Name) actsForUser() bool {
	return n == Login || n == OrderHistory || n == Checkout || n == UpdateProfile
}
