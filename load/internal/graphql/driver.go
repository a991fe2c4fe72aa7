// Package graphql runs journeys over GraphQL: one document each, known to the gateway by its hash.
package graphql

import (
	"context"
	"fmt"

	"hopwise/load/internal/answer"
	"hopwise/load/internal/exchange"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/tape"
)

// Driver runs journeys over GraphQL.
type Driver struct {
	documents map[journey.Name][]document
}

// NewDriver returns a driver with the documents of all journeys.
func NewDriver() *Driver { return &Driver{documents: loadDocuments()} }

// Prepare registers the documents of the journeys, so that only hashes travel during the load.
//
// A document is registered with its text and without variables or a token: those that need either are refused before
// anything runs, so registering changes nothing.
func (d *Driver) Prepare(ctx context.Context, journeys []journey.Name, open func() *exchange.Exchange) error {
	for _, name := range journeys {
		for _, document := range d.documents[name] {
			r, err := request(document, nil, "", true)
			if err != nil {
				return err
			}
			response, err := open().Do(ctx, r)
			if err != nil {
				return fmt.Errorf("registering the query of %s: %w", name, err)
			}
			if response.Status >= 500 || response.Status == 404 {
				return fmt.Errorf("registering the query of %s: status %d from %s", name, response.Status, endpoint)
			}
		}
	}
	return nil
}

// Run runs one journey and returns its answer in canonical form, not checked yet.
func (d *Driver) Run(ctx context.Context, e tape.Entry, token string, x *exchange.Exchange) (answer.Answer, error) {
	documents := d.documents[e.Journey]
	if documents == nil {
		return nil, outcome.Failed(outcome.Client, "GraphQL has no plan for the journey %q", e.Journey)
	}
	return plans[e.Journey](ctx, call{e: e, token: token, x: x, documents: documents})
}

// call is what a plan works with.
type call struct {
	e         tape.Entry
	token     string
	x         *exchange.Exchange
	documents []document
}

type plan func(context.Context, call) (answer.Answer, error)

var plans = map[journey.Name]plan{
	journey.Browse:        browse,
	journey.Product:       product,
	journey.Login:         login,
	journey.OrderHistory:  orderHistory,
	journey.Checkout:      checkout,
	journey.UpdateProfile: updateProfile,
	journey.OrderStatus:   orderStatus,
	journey.BulkLines:     bulkLines,
}
