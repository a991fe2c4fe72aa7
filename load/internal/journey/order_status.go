package journey

import (
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
)

// OrderStatus asks how far an order has come and whether it is paid.
const OrderStatus Name = "order_status"

var orderStatus = definition{
	name:    OrderStatus,
	senders: partners,
	needs:   []string{"order_id"},
	draw:    func(d dice) Params { return Params{OrderID: d.From(d.scale.Orders())} },
}

// OrderStatusAnswer is the order with its payment.
type OrderStatusAnswer struct {
	ID      int64         `json:"id"`
	Payment StatusPayment `json:"payment"`
	Status  string        `json:"status"`
	Total   shop.Money    `json:"total"`
}

// StatusPayment is how the order is paid.
type StatusPayment struct {
	Amount shop.Money `json:"amount"`
	Status string     `json:"status"`
}

// NewOrderStatusAnswer returns the answer that is this order, which is joined with its payment.
func NewOrderStatusAnswer(o shop.Order) *OrderStatusAnswer {
	return &OrderStatusAnswer{ID: o.ID, Payment: StatusPayment{o.Payment.Amount, o.Payment.Status}, Status: o.Status, Total: o.Total}
}

func (a *OrderStatusAnswer) check(q Question) error {
	if err := checkID("order", a.ID, q.Params.OrderID); err != nil {
		return err
	}
	if a.Payment.Amount != a.Total {
		return outcome.Wrong("order %d costs %d, its payment is %d", a.ID, a.Total.AmountMinor, a.Payment.Amount.AmountMinor)
	}
	return checkStatuses(a.Status, a.Payment.Status)
}
