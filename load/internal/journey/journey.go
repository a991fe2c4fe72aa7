// Package journey has a file for each journey: its name, senders, parameters, plans, canonical answer and check.
package journey

import (
	"context"
	"fmt"
	"slices"

	"hopwise/load/internal/choice"
	"hopwise/load/internal/graphql"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/target"
)

// Name is the name of a journey, the unit of load and of comparison.
type Name string

type Entry struct {
	Seq     int64          `json:"seq"`
	AtNs    int64          `json:"at_ns"` // intended arrival after the start of the replay
	Journey Name           `json:"journey"`
	Channel target.Channel `json:"channel"`
	Params  Params         `json:"params"`
}

// all has the journeys of the shop, in the order in which messages list them.
var all = []*definition{&browse, &product, &login, &orderHistory, &checkout, &updateProfile, &orderStatus, &bulkLines, &document, &notifications, &productCard, &orderList, &productFeed}

type definition struct {
	name    Name
	senders []target.Channel
	needs   []string // parameters, by their names on the tape
	shows   []string // fields of the resource that the journey's screen shows, by their names in REST; nil for all
	draw    func(dice) Params

	graphQL      graphQLPlan
	federation   graphQLPlan  // plan over a router; nil for the GraphQL plan
	documents    []string     // documents of the GraphQL plan; nil for the single document with the journey's name
	composed     servicesPlan // plan with batch requests, and with independent calls in parallel
	joined       servicesPlan // plan over the REST gateway, which joins the services' data; nil for the composed plan
	transcoded   bool         // whether the edge transcodes all RPCs of the composed plan
	needsUpdates bool         // whether the journey needs a shop that sends updates about orders
}

// A graphQLPlan runs a journey over the GraphQL gateway, or over a router.
type graphQLPlan func(context.Context, graphql.Client, Entry) (Answer, error)

// A servicesPlan runs a journey over APIs with the services' methods, in any protocol.
type servicesPlan func(context.Context, shop.Services, Params) (Answer, error)

// asks returns the plan that sends one document, which has the journey's name.
func asks[T any](variables func(graphql.Client, Entry) graphql.Variables, read func(T, Params) (Answer, error)) graphQLPlan {
	return func(ctx context.Context, c graphql.Client, e Entry) (Answer, error) {
		data, err := graphql.Ask[T](ctx, c, string(e.Journey), variables(c, e))
		if err != nil {
			return nil, err
		}
		return read(data, e.Params)
	}
}

// Senders of journeys: customers act only for themselves, partners read any order and check out for any customer.
var (
	everyone  = target.Channels()
	customers = []target.Channel{target.Web, target.Mobile}
	partners  = []target.Channel{target.Partner}
)

var byName = func() map[Name]*definition {
	index := map[Name]*definition{}
	for _, d := range all {
		index[d.name] = d
	}
	return index
}()

func Names() []Name {
	return shop.Mapped(all, func(d *definition) Name { return d.name })
}

func (n Name) Known() bool { return byName[n] != nil }

// Shows returns the fields that the journey's screen shows, by their names in REST; nil for all, and for other targets.
func (n Name) Shows() []string {
	if !n.Known() {
		return nil
	}
	return byName[n].shows
}

// CheckSender returns an error that lists the valid values for an unknown journey or a channel that cannot send it.
func (n Name) CheckSender(c target.Channel) error {
	if err := choice.Check(n, Names(), "journey", "journeys"); err != nil {
		return err
	}
	if err := c.Check(); err != nil {
		return err
	}
	if senders := byName[n].senders; !slices.Contains(senders, c) {
		return fmt.Errorf("channel %q cannot send journey %q; channels that can: %s", c, n, choice.List(senders))
	}
	return nil
}
