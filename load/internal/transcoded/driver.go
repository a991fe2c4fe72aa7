// Package transcoded runs the partner's journeys over the services' gRPC APIs as JSON, which the edge transcodes.
//
// The edge only translates: whatever needs two RPCs is two requests here, and a stream is a JSON array of its chunks. It
// cannot turn a header into a field, so the idempotency key of a checkout is in the body.
package transcoded

import (
	"context"

	"hopwise/load/internal/answer"
	"hopwise/load/internal/exchange"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/tape"
)

// Driver runs journeys over the edge's transcoder.
type Driver struct{}

// NewDriver returns a driver.
func NewDriver() *Driver { return &Driver{} }

// Prepare has nothing to do: the transcoder keeps no state between requests.
func (*Driver) Prepare(context.Context, []journey.Name, func() *exchange.Exchange) error { return nil }

// Run runs one journey and returns its answer in canonical form, not checked yet.
func (*Driver) Run(ctx context.Context, e tape.Entry, token string, x *exchange.Exchange) (answer.Answer, error) {
	plan := plans[e.Journey]
	if plan == nil {
		return nil, outcome.Failed(outcome.Client, "the transcoder has no plan for the journey %q", e.Journey)
	}
	return plan(ctx, call{e: e, token: token, x: x})
}

// call is what a plan works with.
type call struct {
	e     tape.Entry
	token string
	x     *exchange.Exchange
}

type plan func(context.Context, call) (answer.Answer, error)

var plans = map[journey.Name]plan{
	journey.Checkout:    checkout,
	journey.OrderStatus: orderStatus,
	journey.BulkLines:   bulkLines,
}

// Serves says whether there is a plan for the journey: the partner's have one.
func Serves(name journey.Name) bool { return plans[name] != nil }
