package plan

import (
	"context"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
	"hopwise/load/internal/tape"
)

var bulkLines = plans{
	graphQL: asks(
		func(e tape.Entry) graphql.Variables {
			return graphql.Variables{"first": shopdata.BulkPage, "after": graphql.GlobalID("OrderLine", *e.Params.AfterLineID)}
		},
		func(data struct {
			OrderLines graphql.Connection[graphql.ExportedLine] `json:"orderLines"`
		}, _ journey.Params) (journey.Answer, error) {
			return &journey.BulkLinesAnswer{Lines: graphql.Nodes(data.OrderLines)}, nil
		},
	),
	transcoded: true,
	best: func(ctx context.Context, s shop.Services, p journey.Params) (journey.Answer, error) {
		lines, err := s.ExportLines(ctx, *p.AfterLineID)
		return &journey.BulkLinesAnswer{Lines: lines}, err
	},
}
