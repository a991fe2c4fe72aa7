package journey

import (
	"context"
	"slices"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
)

// BulkLines exports a page of all users' order lines.
const BulkLines Name = "bulk_lines"

var bulkLines = definition{
	name:    BulkLines,
	senders: partners,
	needs:   []string{"after_line_id"},
	draw: func(d dice) Params {
		after := d.From(d.scale.BulkStarts())
		return Params{AfterLineID: &after}
	},
	federation: bulkLinesFederated,
	graphQL: asks(
		func(_ graphql.Client, e Entry) graphql.Variables {
			return graphql.Variables{"first": shopdata.BulkPage, "after": graphql.GlobalID("OrderLine", *e.Params.AfterLineID)}
		},
		func(data struct {
			OrderLines graphql.Connection[graphql.ExportedLine] `json:"orderLines"`
		}, _ Params) (Answer, error) {
			return &bulkLinesAnswer{Lines: graphql.Nodes(data.OrderLines)}, nil
		},
	),
	transcoded: true,
	composed: func(ctx context.Context, s shop.Services, p Params) (Answer, error) {
		lines, err := s.ExportLines(ctx, *p.AfterLineID)
		return &bulkLinesAnswer{Lines: lines}, err
	},
}

// bulkLinesAnswer has lines in ascending order of their ids.
type bulkLinesAnswer struct {
	Lines []shop.ExportedLine `json:"lines"`
}

func (a *bulkLinesAnswer) check(q Question) error {
	if len(a.Lines) != shopdata.BulkPage {
		return outcome.Wrong("the answer has %d lines instead of %d", len(a.Lines), shopdata.BulkPage)
	}
	for i, line := range a.Lines {
		if want := *q.Params.AfterLineID + int64(i) + 1; line.ID != want {
			return outcome.Wrong("place %d is line %d instead of %d", i+1, line.ID, want)
		}
		if !slices.Contains(orderStatuses, line.Status) {
			return outcome.Wrong("line %d has the unknown order status %q", line.ID, line.Status)
		}
	}
	return nil
}
