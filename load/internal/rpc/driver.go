// Package rpc runs journeys over the services' gRPC APIs: batch methods where there are many things to get, RPCs that do not
// depend on each other side by side, a server stream for the bulk read.
package rpc

import (
	"context"

	"google.golang.org/grpc"

	"hopwise/load/internal/answer"
	"hopwise/load/internal/exchange"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/stubs/orderv1"
	"hopwise/load/internal/stubs/paymentv1"
	"hopwise/load/internal/stubs/productv1"
	"hopwise/load/internal/stubs/userv1"
	"hopwise/load/internal/tape"
	"hopwise/load/internal/target"
)

// Driver runs journeys over gRPC.
type Driver struct {
	plans map[journey.Name]plan
}

// NewDriver returns a driver that follows the plan.
func NewDriver(p target.Plan) *Driver {
	if p == target.Naive {
		return &Driver{naive}
	}
	return &Driver{best}
}

// Prepare has nothing to do: gRPC keeps no state between requests.
func (*Driver) Prepare(context.Context, []journey.Name, func() *exchange.Exchange) error { return nil }

// Run runs one journey and returns its answer in canonical form, not checked yet.
func (d *Driver) Run(ctx context.Context, e tape.Entry, token string, x *exchange.Exchange) (answer.Answer, error) {
	plan := d.plans[e.Journey]
	if plan == nil {
		return nil, outcome.Failed(outcome.Client, "gRPC has no plan for the journey %q", e.Journey)
	}
	return plan(ctx, call{e: e, shop: connect(x.Channel(token)), x: x})
}

// shop is a client of each service.
type shop struct {
	product productv1.ProductServiceClient
	order   orderv1.OrderServiceClient
	user    userv1.UserServiceClient
	payment paymentv1.PaymentServiceClient
}

func connect(channel grpc.ClientConnInterface) shop {
	return shop{
		product: productv1.NewProductServiceClient(channel),
		order:   orderv1.NewOrderServiceClient(channel),
		user:    userv1.NewUserServiceClient(channel),
		payment: paymentv1.NewPaymentServiceClient(channel),
	}
}

// call is what a plan works with.
type call struct {
	shop
	e tape.Entry
	x *exchange.Exchange
}

type plan func(context.Context, call) (answer.Answer, error)

var best = map[journey.Name]plan{
	journey.Browse:        browse,
	journey.Product:       productDetail,
	journey.Login:         login,
	journey.OrderHistory:  orderHistory,
	journey.Checkout:      checkout,
	journey.UpdateProfile: updateProfile,
	journey.OrderStatus:   orderStatus,
	journey.BulkLines:     bulkLines,
}

// naive differs where the best plan has batches or goes side by side.
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
