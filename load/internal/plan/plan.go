// Package plan holds how each journey is sent over each protocol: which requests, in which order, and which of them side by
// side. A journey has a file of its own here too.
package plan

import (
	"context"

	"golang.org/x/sync/errgroup"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/tape"
)

// all holds the plans of every journey.
var all = map[journey.Name]plans{
	journey.Browse:        browse,
	journey.Product:       product,
	journey.Login:         login,
	journey.OrderHistory:  orderHistory,
	journey.Checkout:      checkout,
	journey.UpdateProfile: updateProfile,
	journey.OrderStatus:   orderStatus,
	journey.BulkLines:     bulkLines,
}

// plans are the plans of one journey.
type plans struct {
	graphQL    graphQLPlan
	documents  []string // that the GraphQL plan sends; nil: the one with the journey's name
	best       servicesPlan
	naive      servicesPlan // nil: the best one, which has neither batches nor anything side by side
	joined     servicesPlan // over the REST gateway; nil: the best one, because it needs nothing joined
	transcoded bool         // whether the edge transcodes all RPCs of the best plan
}

// A graphQLPlan runs a journey over the GraphQL gateway.
type graphQLPlan func(context.Context, graphql.Client, tape.Entry) (journey.Answer, error)

// A servicesPlan runs a journey over APIs with the services' methods, in whichever protocol they are called.
type servicesPlan func(context.Context, shop.Services, journey.Params) (journey.Answer, error)

// asks returns the plan of one document, which has the journey's name.
func asks[T any](variables func(tape.Entry) graphql.Variables, read func(T, journey.Params) (journey.Answer, error)) graphQLPlan {
	return func(ctx context.Context, c graphql.Client, e tape.Entry) (journey.Answer, error) {
		data, err := graphql.Ask[T](ctx, c, string(e.Journey), variables(e))
		if err != nil {
			return nil, err
		}
		return read(data, e.Params)
	}
}

// sideBySide runs the calls at the same time and returns the first failure, which ends the others.
func sideBySide(ctx context.Context, calls ...func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, call := range calls {
		group.Go(func() error { return call(ctx) })
	}
	return group.Wait()
}
