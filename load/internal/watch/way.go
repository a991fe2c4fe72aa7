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

// protocols are those by which customers can wait: gRPC's server streams, and server-sent events of a REST gateway or of the service.
var protocols = []target.Protocol{target.GRPC, target.REST, target.RESTServices}

// EntryOf returns how the customers enter who wait: as the first channel whose protocol lets them.
func EntryOf(t target.Target) (target.Entry, error) {
	for _, channel := range target.Channels() {
		if entry := t.Entry[channel]; slices.Contains(protocols, entry.Protocol) {
			return entry, nil
		}
	}
	return target.Entry{}, fmt.Errorf("topology %q has no channel by which customers can wait for news; protocols that let them: %s",
		t.Topology, choice.List(protocols))
}
