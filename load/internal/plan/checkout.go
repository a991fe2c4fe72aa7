package plan

import (
	"context"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
	"hopwise/load/internal/tape"
)

var checkout = plans{
	graphQL: asks(
		func(e tape.Entry) graphql.Variables {
			items := make([]graphql.Variables, 0, len(e.Params.Lines))
			for _, i := range e.Params.Lines {
				items = append(items, graphql.Variables{"productId": graphql.GlobalID("Product", i.ProductID), "quantity": i.Quantity})
			}
			input := graphql.Variables{
				"idempotencyKey": e.Params.IdempotencyKey, "lines": items, "paymentToken": shopdata.PaymentToken,
			}
			if e.Channel == journey.Partner {
				input["userId"] = graphql.GlobalID("User", e.Params.UserID)
			}
			return graphql.Variables{"input": input}
		},
		func(data struct {
			Checkout struct {
				Order graphql.Order `json:"order"`
			} `json:"checkout"`
		}, _ journey.Params) (journey.Answer, error) {
			return journey.NewCheckoutAnswer(data.Checkout.Order.Canonical()), nil
		},
	),
	transcoded: true,
	best: func(ctx context.Context, s shop.Services, p journey.Params) (journey.Answer, error) {
		order, err := s.Checkout(ctx, shop.Purchase{UserID: p.UserID, Items: p.Lines, IdempotencyKey: p.IdempotencyKey})
		return journey.NewCheckoutAnswer(order), err
	},
}
