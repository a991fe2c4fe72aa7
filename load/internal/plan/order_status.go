package plan

import (
	"context"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/tape"
)

var orderStatus = plans{
	graphQL: asks(
		func(e tape.Entry) graphql.Variables {
			return graphql.Variables{"id": graphql.GlobalID("Order", e.Params.OrderID)}
		},
		func(data struct {
			Order graphql.Order `json:"order"`
		}, _ journey.Params) (journey.Answer, error) {
			return journey.NewOrderStatusAnswer(data.Order.Canonical()), nil
		},
	),
	joined: func(ctx context.Context, s shop.Services, p journey.Params) (journey.Answer, error) {
		order, err := s.GetOrder(ctx, p.OrderID)
		return journey.NewOrderStatusAnswer(order), err
	},
	transcoded: true,
	// The order and its payment side by side.
	best: func(ctx context.Context, s shop.Services, p journey.Params) (journey.Answer, error) {
		var (
			order    shop.Order
			payments []shop.Payment
		)
		err := sideBySide(ctx,
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
		return journey.NewOrderStatusAnswer(order), err
	},
	// The order, then its payment.
	naive: func(ctx context.Context, s shop.Services, p journey.Params) (journey.Answer, error) {
		order, err := s.GetOrder(ctx, p.OrderID)
		if err != nil {
			return nil, err
		}
		payments, err := s.BatchGetPayments(ctx, order.ID)
		order.Join(nil, payments)
		return journey.NewOrderStatusAnswer(order), err
	},
}
