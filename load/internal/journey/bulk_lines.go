package journey

import (
	"slices"

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
}

// BulkLinesAnswer has lines by ascending id.
type BulkLinesAnswer struct {
	Lines []shop.ExportedLine `json:"lines"`
}

func (a *BulkLinesAnswer) check(q Question) error {
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
