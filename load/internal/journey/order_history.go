package journey

import (
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
)

// OrderHistory looks at the latest orders with the titles of their products and how they are paid.
const OrderHistory Name = "order_history"

var orderHistory = definition{
	name:    OrderHistory,
	senders: customers,
	needs:   []string{"user_id"},
	draw:    func(d dice) Params { return Params{UserID: d.From(d.scale.Regulars())} },
}

// OrderHistoryAnswer has orders, newest first.
type OrderHistoryAnswer struct {
	Orders []HistoryOrder `json:"orders"`
}

// HistoryOrder is one order of the history.
type HistoryOrder struct {
	ID            int64         `json:"id"`
	Lines         []HistoryLine `json:"lines"`
	PaymentStatus string        `json:"payment_status"`
	PlacedAt      string        `json:"placed_at"`
	Status        string        `json:"status"`
	Total         shop.Money    `json:"total"`
}

// HistoryLine is one line of an order in the history, by line number.
type HistoryLine struct {
	ProductID int64      `json:"product_id"`
	Quantity  int64      `json:"quantity"`
	Title     string     `json:"title"`
	UnitPrice shop.Money `json:"unit_price"`
}

// NewOrderHistoryAnswer returns the answer that has these orders, which are joined with their products and payments.
func NewOrderHistoryAnswer(orders []shop.Order) *OrderHistoryAnswer {
	a := &OrderHistoryAnswer{Orders: make([]HistoryOrder, 0, len(orders))}
	for _, o := range orders {
		o.SortLines()
		lines := make([]HistoryLine, 0, len(o.Lines))
		for _, l := range o.Lines {
			lines = append(lines, HistoryLine{ProductID: l.ProductID, Quantity: l.Quantity, Title: l.Title, UnitPrice: l.UnitPrice})
		}
		a.Orders = append(a.Orders, HistoryOrder{
			ID: o.ID, Lines: lines, PaymentStatus: o.Payment.Status, PlacedAt: o.PlacedAt, Status: o.Status, Total: o.Total,
		})
	}
	return a
}

func (a *OrderHistoryAnswer) check(q Question) error {
	expected := q.Scale.OrdersOfRegular(q.Params.UserID)
	if len(a.Orders) != len(expected) {
		return outcome.Wrong("the history has %d orders instead of %d", len(a.Orders), len(expected))
	}
	for i, order := range a.Orders {
		if order.ID != expected[i] {
			return outcome.Wrong("place %d of the history is order %d instead of %d", i+1, order.ID, expected[i])
		}
		if len(order.Lines) == 0 {
			return outcome.Wrong("order %d has no lines", order.ID)
		}
		sum := int64(0)
		for _, line := range order.Lines {
			sum += line.Quantity * line.UnitPrice.AmountMinor
		}
		if sum != order.Total.AmountMinor {
			return outcome.Wrong("order %d has total %d, its lines add up to %d", order.ID, order.Total.AmountMinor, sum)
		}
		if err := checkStatuses(order.Status, order.PaymentStatus); err != nil {
			return err
		}
	}
	return nil
}
