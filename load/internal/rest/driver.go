// Package rest runs journeys over REST: through the REST gateway, which composes, or over the services' own APIs, where the
// client composes (batch filters, and side by side what does not depend on each other, unless its plan is the naive one).
package rest

import (
	"context"

	"hopwise/load/internal/answer"
	"hopwise/load/internal/exchange"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/tape"
	"hopwise/load/internal/target"
)

// Driver runs journeys over REST.
type Driver struct {
	plans map[journey.Name]plan
}

// NewDriver returns a driver of the REST gateway: one request a journey, the login apart.
func NewDriver() *Driver { return &Driver{overGateway} }

// NewServicesDriver returns a driver of the services' own APIs that follows the plan.
func NewServicesDriver(p target.Plan) *Driver {
	if p == target.Naive {
		return &Driver{naive}
	}
	return &Driver{overServices}
}

// Prepare has nothing to do: REST keeps no state between requests.
func (*Driver) Prepare(context.Context, []journey.Name, func() *exchange.Exchange) error { return nil }

// Run runs one journey and returns its answer in canonical form, not checked yet.
func (d *Driver) Run(ctx context.Context, e tape.Entry, token string, x *exchange.Exchange) (answer.Answer, error) {
	plan := d.plans[e.Journey]
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

var overGateway = map[journey.Name]plan{
	journey.Browse:        browse,
	journey.Product:       productDetail,
	journey.Login:         login,
	journey.OrderHistory:  orderHistoryIncluded,
	journey.Checkout:      checkout,
	journey.UpdateProfile: updateProfile,
	journey.OrderStatus:   orderStatusIncluded,
	journey.BulkLines:     bulkLines,
}

// A service has nothing of another service's, so these two are composed; reviews belong to their products.
var overServices = map[journey.Name]plan{
	journey.Browse:        browse,
	journey.Product:       productDetail,
	journey.Login:         login,
	journey.OrderHistory:  orderHistory,
	journey.Checkout:      checkout,
	journey.UpdateProfile: updateProfile,
	journey.OrderStatus:   orderStatus,
	journey.BulkLines:     bulkLines,
}

// naive differs where the plan over services has batches or goes side by side.
var naive = map[journey.Name]plan{
	journey.Browse:        browseOneByOne,
	journey.Product:       productDetail,
	journey.Login:         login,
	journey.OrderHistory:  orderHistoryOneByOne,
	journey.Checkout:      checkout,
	journey.UpdateProfile: updateProfile,
	journey.OrderStatus:   orderStatusOneByOne,
	journey.BulkLines:     bulkLines,
}
