// Package watch simulates customers who wait for updates of their orders, and records when each update arrived.
package watch

import (
	"fmt"
	"slices"

	"hopwise/load/internal/choice"
	"hopwise/load/internal/target"
)

type Way string

const (
	Push Way = "push" // over a stream that stays open
	Poll Way = "poll" // by polling
)

func (w Way) Check() error { return choice.Check(w, []Way{Push, Poll}, "way", "ways") }

// protocols are the protocols for waiting: gRPC's streams, REST's server-sent events, and GraphQL's subscriptions.
var protocols = []target.Protocol{target.GRPC, target.REST, target.RESTServices, target.GraphQL}

// EntryOf returns the entry of a channel's customers, or an error if the entry's protocol does not support waiting.
func EntryOf(t target.Target, channel target.Channel) (target.Entry, error) {
	if err := channel.Check(); err != nil {
		return target.Entry{}, err
	}
	entry := t.Entry[channel]
	if !slices.Contains(protocols, entry.Protocol) {
		return entry, fmt.Errorf("customers of the channel %s of topology %q speak %s, over which they cannot wait for updates; protocols that support this: %s",
			channel, t.Topology, entry.Protocol, choice.List(protocols))
	}
	return entry, nil
}
