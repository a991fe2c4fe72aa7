package plan

import (
	"context"
	"slices"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
	"hopwise/load/internal/tape"
)

var orderHistory = plans{
	graphQL: asks(
		func(tape.Entry) graphql.Variables { return graphql.Variables{"first": shopdata.OrdersPerRegular} },
		func(data struct {
			Me graphql.User `json:"me"`
		}, p journey.Params) (journey.Answer, error) {
			if user := data.Me.ID.Of("User"); user != p.UserID {
				return nil, outcome.Wrong("the history is that of user %d instead of %d", user, p.UserID)
			}
			return journey.NewOrderHistoryAnswer(graphql.Nodes(data.Me.Orders)), nil
		},
	),
	joined: func(ctx context.Context, s shop.Services, p journey.Params) (journey.Answer, error) {
		orders, err := listOrders(ctx, s, p.UserID)
		return journey.NewOrderHistoryAnswer(orders), err
	},
	// The orders, then the products of all their lines and all their payments side by side.
	best: func(ctx context.Context, s shop.Services, p journey.Params) (journey.Answer, error) {
		orders, err := listOrders(ctx, s, p.UserID)
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
		slices.Sort(lines)
		var (
			products []shop.Product
			payments []shop.Payment
		)
		err = sideBySide(ctx,
			func(ctx context.Context) (err error) {
				products, err = s.BatchGetProducts(ctx, slices.Compact(lines))
				return err
			},
			func(ctx context.Context) (err error) {
				payments, err = s.BatchGetPayments(ctx, ids...)
				return err
			},
		)
		return historyOf(orders, products, payments), err
	},
	// The payment of one order and the product of one line after the other, also a product again.
	naive: func(ctx context.Context, s shop.Services, p journey.Params) (journey.Answer, error) {
		orders, err := listOrders(ctx, s, p.UserID)
		if err != nil {
			return nil, err
		}
		var (
			products []shop.Product
			payments []shop.Payment
		)
		for _, o := range orders {
			paid, err := s.BatchGetPayments(ctx, o.ID)
			if err != nil {
				return nil, err
			}
			payments = append(payments, paid...)
			for _, l := range o.Lines {
				product, err := s.GetProduct(ctx, l.ProductID)
				if err != nil {
					return nil, err
				}
				products = append(products, product)
			}
		}
		return historyOf(orders, products, payments), nil
	},
}

// listOrders returns the user's orders; they are known to be the user's and to have lines.
func listOrders(ctx context.Context, s shop.Services, user int64) ([]shop.Order, error) {
	orders, err := s.ListOrders(ctx, user)
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

func historyOf(orders []shop.Order, products []shop.Product, payments []shop.Payment) journey.Answer {
	titles := make(map[int64]string, len(products))
	for _, p := range products {
		titles[p.ID] = p.Title
	}
	for i := range orders {
		orders[i].Join(titles, payments)
	}
	return journey.NewOrderHistoryAnswer(orders)
}
