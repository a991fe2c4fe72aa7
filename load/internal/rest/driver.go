// Package rest runs journeys over REST: batch filters where there are many things to get, and requests that do not depend
// on each other side by side.
package rest

import (
	"context"

	"hopwise/load/internal/answer"
	"hopwise/load/internal/exchange"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/tape"
)

// Driver runs journeys over the REST gateway's API.
type Driver struct{}

// NewDriver returns a driver.
func NewDriver() *Driver { return &Driver{} }

// Prepare has nothing to do: REST keeps no state between requests.
func (*Driver) Prepare(context.Context, []journey.Name, func() *exchange.Exchange) error { return nil }

// Run runs one journey and returns its answer in canonical form, not checked yet.
func (*Driver) Run(ctx context.Context, e tape.Entry, token string, x *exchange.Exchange) (answer.Answer, error) {
	plan := plans[e.Journey]
	if plan == nil {
		return nil, outcome.Failed(outcome.Client, "REST has no plan for the journey %q", e.Journey)
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
	journey.Browse:        browse,
	journey.Product:       productDetail,
	journey.Login:         login,
	journey.OrderHistory:  orderHistory,
	journey.Checkout:      checkout,
	journey.UpdateProfile: updateProfile,
	journey.OrderStatus:   orderStatus,
	journey.BulkLines:     bulkLines,
}
