package journey

import (
	"context"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
)

const OrderStatus Name = "order_status"

var orderStatus = definition{
	name:    OrderStatus,
	senders: partners,
	needs:   []string{"order_id"},
	draw:    func(d dice) Params { return Params{OrderID: d.From(d.scale.Orders())} },
	graphQL: asks(
		func(c graphql.Client, e Entry) graphql.Variables {
			return graphql.Variables{"id": c.ID("Order", e.Params.OrderID)}
		},
		func(data struct {
			Order graphql.Order `json:"order"`
		}, _ Params) (Answer, error) {
			return newOrderStatusAnswer(data.Order.Canonical()), nil
		},
	),
	joined: func(ctx context.Context, s shop.Services, p Params) (Answer, error) {
		order, err := s.GetOrder(ctx, p.OrderID)
		return newOrderStatusAnswer(order), err
	},
	transcoded: true,
	// Reads the order and its payment in parallel.
	composed: func(ctx context.Context, s shop.Services, p Params) (Answer, error) {
		var (
			order    shop.Order
			payments []shop.Payment
		)
		err := sideBySide(ctx, s,
			func(ctx context.Context) (err error) {
				order, err = s.GetOrder(ctx, p.OrderID)
				return err
			},
			func(ctx context.Context) (err error) {
				payments, err = s.BatchGetPayments(ctx, p.OrderID)
				return err
			},
		)
		order.Join(nil, payments)
		return newOrderStatusAnswer(order), err
	},
}

type orderStatusAnswer struct {
	ID      int64         `json:"id"`
	Payment statusPayment `json:"payment"`
	Status  string        `json:"status"`
	Total   shop.Money    `json:"total"`
}

type statusPayment struct {
	Amount shop.Money `json:"amount"`
	Status string     `json:"status"`
}

// newOrderStatusAnswer returns the answer with this order, which must be joined with its payment.
func newOrderStatusAnswer(o shop.Order) *orderStatusAnswer {
	return &orderStatusAnswer{ID: o.ID, Payment: statusPayment{o.Payment.Amount, o.Payment.Status}, Status: o.Status, Total: o.Total}
}

func (a *orderStatusAnswer) check(q Question) error {
	if err := checkID("order", a.ID, q.Params.OrderID); err != nil {
		return err
	}
	if a.Payment.Amount != a.Total {
		return outcome.Wrong("order %d costs %d, its payment is %d", a.ID, a.Total.AmountMinor, a.Payment.Amount.AmountMinor)
	}
	return checkStatuses(a.Status, a.Payment.Status)
}
