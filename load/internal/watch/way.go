// Package watch has customers wait for news of their orders while a replay goes on elsewhere, and records when which news came.
package watch

import (
	"fmt"
	"slices"

	"hopwise/load/internal/choice"
	"hopwise/load/internal/target"
)

// Way is how customers learn of news.
type Way string

// The ways.
const (
	Push Way = "push" // over a stream that stays open
	Poll Way = "poll" // by asking again and again
)

// Check returns an error that lists the ways if it is none of them.
func (w Way) Check() error { return choice.Check(w, []Way{Push, Poll}, "way", "ways") }

// protocols are those by which customers can wait: gRPC's server streams, server-sent events of a REST gateway or of the service, and
// GraphQL's subscriptions.
var protocols = []target.Protocol{target.GRPC, target.REST, target.RESTServices, target.GraphQL}

// EntryOf returns how the customers of a channel enter, if its protocol lets them wait.
func EntryOf(t target.Target, channel target.Channel) (target.Entry, error) {
	if err := channel.Check(); err != nil {
		return target.Entry{}, err
	}
	entry := t.Entry[channel]
	if !slices.Contains(protocols, entry.Protocol) {
		return entry, fmt.Errorf("customers of the channel %s of topology %q speak %s, by which they cannot wait for news; protocols that let them: %s",
			channel, t.Topology, entry.Protocol, choice.List(protocols))
	}
	return entry, nil
}
