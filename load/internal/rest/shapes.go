package rest

import (
	"hopwise/load/internal/answer"
	"hopwise/load/internal/journey"
)

// The shapes of the resources on the wire, as far as the plans read them. Money, reviews, bulk lines and addresses look
// the same in canonical form.

type product struct {
	ID          int64           `json:"id"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Category    string          `json:"category"`
	Price       answer.Money    `json:"price"`
	Stock       int64           `json:"stock"`
	Reviews     []answer.Review `json:"reviews"`
}

type productPage struct {
	Products []product `json:"products"`
}

type order struct {
	ID       int64        `json:"id"`
	UserID   int64        `json:"user_id"`
	Status   string       `json:"status"`
	PlacedAt string       `json:"placed_at"`
	Total    answer.Money `json:"total"`
	Lines    []orderLine  `json:"lines"`
	Payment  payment      `json:"payment"`  // if it was asked to be included
	Products []product    `json:"products"` // likewise, those of its lines
}

type orderPage struct {
	Orders []order `json:"orders"`
}

type orderLine struct {
	LineNumber int64        `json:"line_number"`
	ProductID  int64        `json:"product_id"`
	Quantity   int64        `json:"quantity"`
	UnitPrice  answer.Money `json:"unit_price"`
}

type payment struct {
	OrderID int64        `json:"order_id"`
	Status  string       `json:"status"`
	Amount  answer.Money `json:"amount"`
}

type paymentPage struct {
	Payments []payment `json:"payments"`
}

type user struct {
	ID      int64           `json:"id"`
	Email   string          `json:"email"`
	Name    string          `json:"name"`
	Address journey.Address `json:"address"`
}

type session struct {
	Token string `json:"token"`
	User  user   `json:"user"`
}

type linePage struct {
	Lines []answer.BulkLine `json:"lines"`
}

type credentials struct {
	Email    string `json:"email"`
	Password string `json:"password"`
}

type newOrder struct {
	UserID       int64          `json:"user_id"`
	Lines        []journey.Line `json:"lines"`
	PaymentToken string         `json:"payment_token"`
}

type profileChange struct {
	Address *journey.Address `json:"address"`
}
