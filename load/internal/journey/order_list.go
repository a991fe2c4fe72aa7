package journey

import (
	"context"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
)

// OrderList shows the latest orders as rows of a list.
const OrderList Name = "order_list"

var orderList = definition{
	name:       OrderList,
	senders:    customers,
	needs:      []string{"user_id"},
	shows:      []string{"id", "placed_at", "status", "total"},
	draw:       orderHistory.draw,
	federation: orderListFederated,
	graphQL: asks(
		func(graphql.Client, Entry) graphql.Variables {
			return graphql.Variables{"first": shopdata.OrdersPerRegular}
		},
		func(data struct {
			Me graphql.User `json:"me"`
		}, _ Params) (Answer, error) {
			return newOrderListAnswer(graphql.Nodes(data.Me.Orders)), nil
		},
	),
	composed: func(ctx context.Context, s shop.Services, p Params) (Answer, error) {
		orders, err := s.ListOrders(ctx, p.UserID)
		return newOrderListAnswer(orders), err
	},
}

type orderListAnswer struct {
	Orders []listedOrder `json:"orders"`
}

type listedOrder struct {
	ID       int64        `json:"id"`
	PlacedAt shop.Instant `json:"placed_at"`
	Status   string       `json:"status"`
	Total    shop.Money   `json:"total"`
}

func newOrderListAnswer(orders []shop.Order) *orderListAnswer {
	a := &orderListAnswer{Orders: make([]listedOrder, len(orders))}
	for i, o := range orders {
		a.Orders[i] = listedOrder{ID: o.ID, PlacedAt: o.PlacedAt, Status: o.Status, Total: o.Total}
	}
	return a
}

func (a *orderListAnswer) check(q Question) error {
	return checkOrders(q, "list", a.Orders, func(o listedOrder) int64 { return o.ID })
}
