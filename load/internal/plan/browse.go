package plan

import (
	"context"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/tape"
)

var browse = plans{
	graphQL: asks(
		func(e tape.Entry) graphql.Variables { return graphql.Variables{"category": e.Params.Category} },
		func(data struct {
			Products graphql.Connection[graphql.Product] `json:"products"`
		}, _ journey.Params) (journey.Answer, error) {
			return journey.NewBrowseAnswer(graphql.Nodes(data.Products)), nil
		},
	),
	best: func(ctx context.Context, s shop.Services, p journey.Params) (journey.Answer, error) {
		products, err := s.ListReviewedProducts(ctx, p.Category)
		return journey.NewBrowseAnswer(products), err
	},
	// The reviews of one product after the other.
	naive: func(ctx context.Context, s shop.Services, p journey.Params) (journey.Answer, error) {
		products, err := s.ListProducts(ctx, p.Category)
		for i := 0; i < len(products) && err == nil; i++ {
			products[i], err = s.AddReviews(ctx, products[i])
		}
		return journey.NewBrowseAnswer(products), err
	},
}
