package journey

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"

	"hopwise/load/internal/choice"
	"hopwise/load/internal/exchange"
	"hopwise/load/internal/graphql"
	"hopwise/load/internal/rest"
	"hopwise/load/internal/rpc"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/steps"
	"hopwise/load/internal/target"
	"hopwise/load/internal/thriftrpc"
	"hopwise/load/internal/transcoded"
)

// Driver runs journeys over one protocol with one kind of plan.
type Driver struct {
	Protocol target.Protocol
	Plan     target.Plan
	Steps    *steps.Plan // steps of a target other than the shop
	Texts    bool        // whether GraphQL documents are sent as full text, not persisted
	Gets     bool        // whether GraphQL's persisted queries are sent with GET
	Selects  target.Selection
}

// Check returns an error that lists the protocol's journeys if the protocol does not have the journey with this name.
func (d Driver) Check(c target.Channel, name Name) error {
	if d.serves(name) {
		return nil
	}
	if d.Protocol == target.Steps {
		return fmt.Errorf("the tape has the journey %q, which the steps do not have; they have: %s", name, strings.Join(d.Steps.Names(), ", "))
	}
	served := slices.DeleteFunc(Names(), func(n Name) bool { return !d.serves(n) })
	return fmt.Errorf("channel %q sends the journey %q, which the protocol %s does not have; it has: %s",
		c, name, d.Protocol, choice.List(served))
}

func (d Driver) serves(name Name) bool {
	switch d.Protocol {
	case target.Steps:
		return d.Steps.Has(string(name))
	case target.RESTTranscoded:
		return byName[name].transcoded
	case target.Thrift, target.ThriftJSON, target.GraphQLServices, target.Federation:
		return !byName[name].needsUpdates
	}
	return true
}

// Prepare does what must come before the first journey: it registers GraphQL documents, or finds steps' gRPC methods.
func (d Driver) Prepare(ctx context.Context, journeys []Name, open func() *exchange.Exchange) error {
	switch d.Protocol {
	case target.Steps:
		return d.Steps.Prepare(ctx, shop.Mapped(journeys, func(n Name) string { return string(n) }), open)
	case target.GraphQLServices:
		return graphql.Prepare(ctx, graphql.OfServices(), d.sends(), open)
	case target.GraphQL, target.Federation:
	default:
		return nil
	}
	for _, name := range journeys {
		documents := byName[name].documents
		if documents == nil {
			documents = []string{string(name)}
		}
		if err := graphql.Prepare(ctx, documents, d.sends(), open); err != nil {
			return err
		}
	}
	return nil
}

// Run runs one journey and returns its answer in canonical form, unchecked.
func (d Driver) Run(ctx context.Context, e Entry, token string, x *exchange.Exchange) (Answer, error) {
	if d.Protocol == target.Steps {
		answer, err := d.Steps.Run(ctx, string(e.Journey), e.values(), x)
		return stepsAnswer{answer}, err
	}
	j := byName[e.Journey]
	if d.Protocol == target.GraphQL || d.Protocol == target.Federation {
		plan := j.graphQL
		if d.Protocol == target.Federation && j.federation != nil {
			plan = j.federation
		}
		return plan(ctx, graphql.NewClient(x, token, d.sends()), e)
	}
	run := j.composed
	if d.Protocol == target.REST && j.joined != nil {
		run = j.joined
	}
	var fields []string
	if d.Selects == target.SelectsAll {
		fields = j.shows
	}
	return run(ctx, d.services(x, token, fields), e.Params)
}

func (d Driver) sends() graphql.Sends {
	return graphql.Sends{Texts: d.Texts, Gets: d.Gets, Whole: d.Selects == target.SelectsNothing, Router: d.Protocol == target.Federation}
}

// services returns access to the shop in the session of the token; reads select the fields, or all if none are given.
func (d Driver) services(x *exchange.Exchange, token string, fields []string) (s shop.Services) {
	switch d.Protocol {
	case target.REST:
		return rest.Gateway{Services: rest.NewServices(x, token, fields...)}
	case target.RESTTranscoded:
		return transcoded.NewServices(x, token)
	case target.GRPC:
		s = rpc.NewServices(x.Channel, token, d.Plan == target.Streaming, fields...)
	case target.GRPCWeb, target.Connect, target.GRPCConnectClient:
		byConnect := func(token string) grpc.ClientConnInterface { return x.ByConnect(token, d.Protocol) }
		s = rpc.NewServices(byConnect, token, d.Plan == target.Streaming, fields...)
	case target.GraphQLServices:
		s = graphql.NewServices(x, token, d.sends())
	case target.Thrift, target.ThriftJSON:
		s = thriftrpc.NewServices(x, token, d.Protocol)
	default:
		s = rest.NewServices(x, token, fields...)
	}
	if d.Plan == target.Naive { // the client composes the answer itself
		return naive{s}
	}
	return s
}
