package plan

import (
	"context"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/tape"
)

var product = plans{
	graphQL: asks(
		func(e tape.Entry) graphql.Variables {
			return graphql.Variables{"id": graphql.GlobalID("Product", e.Params.ProductID)}
		},
		func(data struct {
			Product graphql.Product `json:"product"`
		}, _ journey.Params) (journey.Answer, error) {
			return journey.NewProductAnswer(data.Product.Canonical()), nil
		},
	),
	best: func(ctx context.Context, s shop.Services, p journey.Params) (journey.Answer, error) {
		product, err := s.GetProduct(ctx, p.ProductID)
		return journey.NewProductAnswer(product), err
	},
}
