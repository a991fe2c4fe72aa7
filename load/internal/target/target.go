// Package target reads target.json: where the topology under test is entered, and in which protocol.
package target

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"

	"hopwise/load/internal/choice"
)

// Protocol is what a client speaks where it enters the topology.
type Protocol string

// The protocols that there is a driver for.
const (
	GraphQL        Protocol = "graphql"         // documents to the GraphQL gateway
	REST           Protocol = "rest"            // the REST gateway, which composes
	RESTServices   Protocol = "rest-services"   // the services' own REST APIs; the client composes
	RESTTranscoded Protocol = "rest-transcoded" // the services' gRPC APIs as JSON, by the edge
	GRPC           Protocol = "grpc"            // the services' gRPC APIs; the client composes
)

var protocols = []Protocol{GraphQL, REST, RESTServices, RESTTranscoded, GRPC}

// Channel is who sends a journey.
type Channel string

// The three channels.
const (
	Web     Channel = "web"
	Mobile  Channel = "mobile"
	Partner Channel = "partner"
)

var channels = []Channel{Web, Mobile, Partner}

// Channels returns all channels.
func Channels() []Channel { return slices.Clone(channels) }

// Check returns an error that lists the channels if it is none of them.
func (c Channel) Check() error { return choice.Check(c, channels, "channel", "channels") }

// Plan is how a client that composes goes about it.
type Plan string

// The plans.
const (
	Best  Plan = "best"  // batches, and side by side what does not depend on each other
	Naive Plan = "naive" // a request per item, one after the other
)

var plans = []Plan{Best, Naive}

// MaxConnections is the most client connections.
const MaxConnections = 1024

// Target is one running topology.
type Target struct {
	Topology      string            `json:"topology"`
	Trial         string            `json:"trial"`
	HTTP          int               `json:"http"` // major version that HTTP clients speak, 1 or 2; gRPC always has 2
	Entry         map[Channel]Entry `json:"entry"`
	OTLP          string            `json:"otlp"` // host:port of an OTLP gRPC receiver; empty if there is none
	JWTPrivateKey string            `json:"jwt_private_key"`
	Plan          Plan              `json:"plan,omitempty"`        // best if it is empty
	Connections   int               `json:"connections,omitempty"` // number of client connections; 0 for the generator's default
}

// Entry is how one channel enters the topology.
type Entry struct {
	Protocol Protocol `json:"protocol"`
	URL      string   `json:"url"` // base URL of the edge, or without one of the channel's gateway
}

// Read reads and checks a target file.
func Read(path string) (Target, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Target{}, fmt.Errorf("target: %w", err)
	}
	var t Target
	if err := json.Unmarshal(text, &t); err != nil {
		return Target{}, fmt.Errorf("target %s: %w", path, err)
	}
	if err := t.check(); err != nil {
		return Target{}, fmt.Errorf("target %s: %w", path, err)
	}
	return t, nil
}

func (t Target) check() error {
	if t.Topology == "" {
		return fmt.Errorf("topology is missing")
	}
	if t.HTTP != 1 && t.HTTP != 2 {
		return fmt.Errorf("http is %d; versions: 1, 2", t.HTTP)
	}
	if t.JWTPrivateKey == "" {
		return fmt.Errorf("jwt_private_key is missing")
	}
	if err := choice.Check(cmp.Or(t.Plan, Best), plans, "plan", "plans"); err != nil {
		return err
	}
	if t.Connections < 0 || t.Connections > MaxConnections {
		return fmt.Errorf("connections %d is not between 1 and %d", t.Connections, MaxConnections)
	}
	for channel, entry := range t.Entry {
		if err := channel.Check(); err != nil {
			return fmt.Errorf("entry: %w", err)
		}
		if err := choice.Check(entry.Protocol, protocols, "protocol", "protocols"); err != nil {
			return fmt.Errorf("entry %s: %w", channel, err)
		}
		if u, err := url.Parse(entry.URL); err != nil || u.Scheme != "http" || u.Host == "" || u.Path != "" {
			return fmt.Errorf("entry %s: url %q is not of the form http://host:port", channel, entry.URL)
		}
	}
	return nil
}

// EntryOf returns how a channel enters, or an error if the topology has no entry for it.
func (t Target) EntryOf(c Channel) (Entry, error) {
	entry, served := t.Entry[c]
	if !served {
		return Entry{}, fmt.Errorf("topology %q has no entry for the channel %q", t.Topology, c)
	}
	return entry, nil
}

// Speaks says whether a channel enters in the protocol.
func (t Target) Speaks(p Protocol) bool {
	for _, entry := range t.Entry {
		if entry.Protocol == p {
			return true
		}
	}
	return false
}

// SpeaksHTTP says whether a channel enters in a protocol whose requests are plain HTTP.
func (t Target) SpeaksHTTP() bool {
	return slices.ContainsFunc(protocols, func(p Protocol) bool { return p != GRPC && t.Speaks(p) })
}
