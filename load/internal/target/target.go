// Package target reads target.json: where the topology under test is entered, and in which protocol.
package target

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"

	"hopwise/load/internal/journey"
)

// Protocol is what a client speaks to the edge.
type Protocol string

// The protocols that there is a driver for.
const (
	GraphQL Protocol = "graphql"
	REST    Protocol = "rest"
)

var protocols = []Protocol{GraphQL, REST}

// Target is one running topology.
type Target struct {
	Topology      string                    `json:"topology"`
	Trial         string                    `json:"trial"`
	Edge          string                    `json:"edge"` // base URL
	HTTP          int                       `json:"http"` // major version that clients speak: 1 or 2
	Entry         map[journey.Channel]Entry `json:"entry"`
	OTLP          string                    `json:"otlp"` // host:port of an OTLP gRPC receiver; empty: no traces
	JWTPrivateKey string                    `json:"jwt_private_key"`
}

// Entry is how one channel enters the topology.
type Entry struct {
	Protocol Protocol `json:"protocol"`
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
	if edge, err := url.Parse(t.Edge); err != nil || edge.Scheme != "http" || edge.Host == "" || edge.Path != "" {
		return fmt.Errorf("edge %q is not of the form http://host:port", t.Edge)
	}
	if t.HTTP != 1 && t.HTTP != 2 {
		return fmt.Errorf("http is %d; versions: 1, 2", t.HTTP)
	}
	if t.JWTPrivateKey == "" {
		return fmt.Errorf("jwt_private_key is missing")
	}
	for channel, entry := range t.Entry {
		if !channel.Known() {
			return fmt.Errorf("entry has the unknown channel %q; channels: %s", channel, journey.List(journey.Channels()))
		}
		if !slices.Contains(protocols, entry.Protocol) {
			return fmt.Errorf("entry %s has the unknown protocol %q; protocols: %s", channel, entry.Protocol, journey.List(protocols))
		}
	}
	return nil
}

// Protocol returns what a channel speaks, or an error if the topology has no entry for it.
func (t Target) Protocol(c journey.Channel) (Protocol, error) {
	entry, found := t.Entry[c]
	if !found {
		return "", fmt.Errorf("topology %q has no entry for the channel %q", t.Topology, c)
	}
	return entry.Protocol, nil
}
