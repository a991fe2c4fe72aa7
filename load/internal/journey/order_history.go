package journey

import (
	"context"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
)

// OrderHistory reads the latest orders, with the titles of their products, and with their payments.
const OrderHistory Name = "order_history"

var orderHistory = definition{
	name:       OrderHistory,
	senders:    customers,
	needs:      []string{"user_id"},
	draw:       func(d dice) Params { return Params{UserID: d.From(d.scale.Regulars())} },
	federation: orderHistoryFederated,
	graphQL: asks(
		func(graphql.Client, Entry) graphql.Variables {
			return graphql.Variables{"first": shopdata.OrdersPerRegular}
		},
		func(data struct {
			Me graphql.User `json:"me"`
		}, p Params) (Answer, error) {
			if user := data.Me.ID.Of("User"); user != p.UserID {
				return nil, outcome.Wrong("the history is that of user %d instead of %d", user, p.UserID)
			}
			return newOrderHistoryAnswer(graphql.Nodes(data.Me.Orders)), nil
		},
	),
	joined: func(ctx context.Context, s shop.Services, p Params) (Answer, error) {
		orders, err := listOrders(ctx, s.(shop.Joining).ListJoinedOrders, p.UserID)
		return newOrderHistoryAnswer(orders), err
	},
	// Reads the orders and then, in parallel, the products of all order lines and the payments of all orders.
	composed: func(ctx context.Context, s shop.Services, p Params) (Answer, error) {
		orders, err := listOrders(ctx, s.ListOrders, p.UserID)
		if err != nil {
			return nil, err
		}
		var ids, lines []int64
		for _, o := range orders {
			ids = append(ids, o.ID)
			for _, l := range o.Lines {
				lines = append(lines, l.ProductID)
			}
		}
		var (
			products []shop.Product
			payments []shop.Payment
		)
		err = sideBySide(ctx, s,
			func(ctx context.Context) (err error) {
				products, err = s.BatchGetProducts(ctx, lines)
				return err
			},
			func(ctx context.Context) (err error) {
				payments, err = s.BatchGetPayments(ctx, ids...)
				return err
			},
		)
		return historyOf(orders, products, payments), err
	},
}

// listOrders returns the user's orders; it checks that they belong to the user and have lines.
func listOrders(
	ctx context.Context, list func(context.Context, int64) ([]shop.Order, error), user int64,
) ([]shop.Order, error) {
	orders, err := list(ctx, user)
	if err != nil {
		return nil, err
	}
	lines := 0
	for _, o := range orders {
		if o.UserID != user {
			return nil, outcome.Wrong("order %d is of user %d instead of %d", o.ID, o.UserID, user)
		}
		lines += len(o.Lines)
	}
	if lines == 0 {
		return nil, outcome.Wrong("the history has no order with lines")
	}
	return orders, nil
}

func historyOf(orders []shop.Order, products []shop.Product, payments []shop.Payment) Answer {
	titles := make(map[int64]string, len(products))
	for _, p := range products {
		titles[p.ID] = p.Title
	}
	for i := range orders {
		orders[i].Join(titles, payments)
	}
	return newOrderHistoryAnswer(orders)
}

type orderHistoryAnswer struct {
	Orders []historyOrder `json:"orders"`
}

type historyOrder struct {
	ID            int64         `json:"id"`
	Lines         []historyLine `json:"lines"`
	PaymentStatus string        `json:"payment_status"`
	PlacedAt      shop.Instant  `json:"placed_at"`
	Status        string        `json:"status"`
	Total         shop.Money    `json:"total"`
}

// historyLine is one line of an order in the history; lines are in the order of their numbers.
type historyLine struct {
	ProductID int64      `json:"product_id"`
	Quantity  int64      `json:"quantity"`
	Title     string     `json:"title"`
	UnitPrice shop.Money `json:"unit_price"`
}

// newOrderHistoryAnswer returns the answer with these orders, which must be joined with their products and payments.
func newOrderHistoryAnswer(orders []shop.Order) *orderHistoryAnswer {
	a := &orderHistoryAnswer{Orders: make([]historyOrder, 0, len(orders))}
	for _, o := range orders {
		o.SortLines()
		lines := make([]historyLine, 0, len(o.Lines))
		for _, l := range o.Lines {
			lines = append(lines, historyLine{ProductID: l.ProductID, Quantity: l.Quantity, Title: l.Title, UnitPrice: l.UnitPrice})
		}
		a.Orders = append(a.Orders, historyOrder{
			ID: o.ID, Lines: lines, PaymentStatus: o.Payment.Status, PlacedAt: o.PlacedAt, Status: o.Status, Total: o.Total,
		})
	}
	return a
}

// checkOrders checks that orders are the customer's latest, newest first.
func checkOrders[O any](q Question, called string, orders []O, id func(O) int64) error {
	expected := q.Scale.OrdersOfRegular(q.Params.UserID)
	if len(orders) != len(expected) {
		return outcome.Wrong("the %s has %d orders instead of %d", called, len(orders), len(expected))
	}
	for i, order := range orders {
		if id(order) != expected[i] {
			return outcome.Wrong("place %d of the %s is order %d instead of %d", i+1, called, id(order), expected[i])
		}
	}
	return nil
}

func (a *orderHistoryAnswer) check(q Question) error {
	if err := checkOrders(q, "history", a.Orders, func(o historyOrder) int64 { return o.ID }); err != nil {
		return err
	}
	for _, order := range a.Orders {
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
