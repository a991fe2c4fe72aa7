// Package target reads target.json: the entries of the topology under test, and their protocols.
package target

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"hopwise/load/internal/choice"
	"hopwise/load/internal/link"
)

// Protocol is the protocol that a client speaks at its entry into the topology.
type Protocol string

// The protocols with a driver.
const (
	GraphQL         Protocol = "graphql"          // documents to the GraphQL gateway
	GraphQLServices Protocol = "graphql-services" // the services' own GraphQL APIs; the client composes the answers
	Federation      Protocol = "federation"       // documents to a router, which joins the services' subgraphs
	REST            Protocol = "rest"             // the REST gateway, which composes the answers
	RESTServices    Protocol = "rest-services"    // the services' own REST APIs; the client composes the answers
	RESTTranscoded  Protocol = "rest-transcoded"  // the services' gRPC APIs, which the edge transcodes to JSON
	GRPC            Protocol = "grpc"             // the services' gRPC APIs; the client composes the answers
	GRPCWeb         Protocol = "grpc-web"         // the same APIs in browsers' gRPC-Web, which the edge translates
	Connect         Protocol = "connect"          // the services' Connect APIs, with GET for reads; the client composes the answers
	Thrift          Protocol = "thrift"           // framed Thrift directly to the services; the client composes the answers
	ThriftJSON      Protocol = "thrift-json"      // Thrift's TJSON over HTTP; the client composes the answers
	// GRPCConnectClient is GRPC through connect-go, so that GRPCWeb and Connect, which use it too, compare with gRPC.
	GRPCConnectClient Protocol = "grpc-connect-client"
	Steps             Protocol = "steps" // requests of a steps file, each to its own endpoint
)

var protocols = []Protocol{GraphQL, GraphQLServices, Federation, REST, RESTServices, RESTTranscoded, GRPC, GRPCWeb, Connect, GRPCConnectClient, Thrift, ThriftJSON}

// Channel is the kind of client that sends a journey.
type Channel string

const (
	Web     Channel = "web"
	Mobile  Channel = "mobile"
	Partner Channel = "partner"
)

var channels = []Channel{Web, Mobile, Partner}

func Channels() []Channel      { return slices.Clone(channels) }
func (c Channel) Check() error { return choice.Check(c, channels, "channel", "channels") }

type Plan string

const (
	Best  Plan = "best"  // batch requests, and independent requests in parallel
	Naive Plan = "naive" // a request per item, one after another
	// Streaming is like best, but a document comes as a stream of chunks if the protocol has streams.
	Streaming Plan = "streaming"
)

var plans = []Plan{Best, Naive, Streaming}

// Selection says which clients request only the fields that their screens show, not whole resources.
type Selection string

const (
	SelectsNothing Selection = "off"
	SelectsGraphQL Selection = "graphql" // only GraphQL clients; REST and gRPC return whole resources
	SelectsAll     Selection = "all"     // also REST clients (sparse fieldsets) and gRPC clients (field masks)
)

var selections = []Selection{SelectsNothing, SelectsGraphQL, SelectsAll}

const MaxConnections = 1024

// Target is one running topology. An empty TLS version means 1.3.
type Target struct {
	Topology      string              `json:"topology"`
	Trial         string              `json:"trial"`
	HTTP          int                 `json:"http"` // major version that HTTP clients speak, 1 to 3; gRPC always uses 2
	Entry         map[Channel]Entry   `json:"entry"`
	OTLP          string              `json:"otlp"` // host:port of an OTLP gRPC receiver; empty if there is none
	JWTPrivateKey string              `json:"jwt_private_key"`
	Steps         string              `json:"steps,omitempty"`          // file of the journeys of a target other than the shop; empty for the shop
	Endpoints     map[string]Entry    `json:"endpoints,omitempty"`      // endpoints of the steps, by name, instead of entry; protocol rest or grpc
	Mine          []string            `json:"mine,omitempty"`           // hosts that may be on another machine
	CACertificate string              `json:"ca_certificate,omitempty"` // PEM file of trusted certificates; empty for entries without TLS
	Plan          Plan                `json:"plan,omitempty"`           // empty for best
	Apart         string              `json:"apart,omitempty"`          // kind of journey with exclusive components, declared to the edge by its requests; empty for none
	Urgent        bool                `json:"urgent,omitempty"`         // whether requests of journeys under way declare a higher urgency than requests of new journeys
	Fresh         bool                `json:"fresh,omitempty"`          // whether each request opens a new connection; otherwise requests share Connections
	Cache         bool                `json:"cache,omitempty"`          // whether each channel's customers cache answers, and revalidate them
	Texts         bool                `json:"texts,omitempty"`          // whether requests have GraphQL documents as full text; otherwise documents are persisted
	Selection     Selection           `json:"selection,omitempty"`      // empty for graphql
	Gets          bool                `json:"gets,omitempty"`           // whether persisted queries are sent with GET, which shared caches may answer
	Uncompressed  bool                `json:"uncompressed,omitempty"`   // whether HTTP clients do not accept gzip
	Connections   int                 `json:"connections,omitempty"`    // number of client connections; 0 for the generator's default
	Networks      map[Channel]Network `json:"networks,omitempty"`       // network between each channel's customers and the edge; empty for no emulation
	TimeoutMs     float64             `json:"timeout_ms,omitempty"`     // time limit of one journey, from its start; 0 for the generator's default
	Visit         link.Visit          `json:"visit,omitempty"`          // kind of visit of all customers; empty for warm
	ClientKey     string              `json:"client_key,omitempty"`
	ClientCert    string              `json:"client_certificate,omitempty"` // PEM file; empty for no client certificate
	TLSMin        string              `json:"tls_min,omitempty"`            // 1.2 or 1.3
	TLSMax        string              `json:"tls_max,omitempty"`
}

// Timeout returns the time limit of one journey, from its start; 0 for the generator's default.
func (t Target) Timeout() time.Duration {
	return time.Duration(t.TimeoutMs * float64(time.Millisecond))
}

// Network is the network between each customer and the edge; even a network without delay is emulated.
type Network struct {
	RTTMs float64 `json:"rtt_ms,omitempty"`
	Down  int64   `json:"down_bits_per_s,omitempty"` // 0 for no limit
	Up    int64   `json:"up_bits_per_s,omitempty"`
}

// Emulated returns the network between each channel's customers and the edge; nil without emulation.
func (t Target) Emulated() (map[Channel]link.Network, error) {
	networks := map[Channel]link.Network{}
	for channel, n := range t.Networks {
		if err := channel.Check(); err != nil {
			return nil, fmt.Errorf("networks: %w", err)
		}
		networks[channel] = link.Network{RTT: time.Duration(math.Round(n.RTTMs * 1e6)), Down: n.Down, Up: n.Up}
		if err := networks[channel].Check(); err != nil {
			return nil, fmt.Errorf("networks %s: %w", channel, err)
		}
	}
	return networks, nil
}

type Entry struct {
	Protocol Protocol `json:"protocol"`
	URL      string   `json:"url"` // base URL of the edge or, without an edge, of the channel's gateway; for framed Thrift, of one service

	// Socket is the path of the Unix socket that replaces the URL's host and port. It is empty for TCP.
	Socket string `json:"socket,omitempty"`

	// Services has the addresses (host:port) of each service's replicas; only for framed Thrift, which has no edge.
	Services map[string][]string `json:"services,omitempty"`
}

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
	if t.HTTP < 1 || t.HTTP > 3 {
		return fmt.Errorf("http is %d; versions: 1, 2, 3", t.HTTP)
	}
	if t.HTTP == 3 && t.CACertificate == "" {
		return fmt.Errorf("ca_certificate is missing; http is 3, which is always encrypted")
	}
	scheme, why := "http", "without"
	if t.CACertificate != "" {
		scheme, why = "https", "with"
	}
	if t.Steps != "" {
		if err := t.checkEndpoints(scheme); err != nil {
			return err
		}
	} else if t.JWTPrivateKey == "" {
		return fmt.Errorf("jwt_private_key is missing")
	}
	if err := choice.Check(cmp.Or(t.Plan, Best), plans, "plan", "plans"); err != nil {
		return err
	}
	if err := choice.Check(cmp.Or(t.Selection, SelectsGraphQL), selections, "selection", "selections"); err != nil {
		return err
	}
	if t.Connections < 0 || t.Connections > MaxConnections {
		return fmt.Errorf("connections %d is not between 1 and %d", t.Connections, MaxConnections)
	}
	if t.TimeoutMs < 0 {
		return fmt.Errorf("timeout_ms %g is negative", t.TimeoutMs)
	}
	if err := cmp.Or(t.Visit, link.Warm).Check(); err != nil {
		return err
	}
	if _, err := t.Emulated(); err != nil {
		return err
	}
	if t.Fresh && len(t.Networks) > 0 && t.Visit != link.First {
		return fmt.Errorf("fresh connections cannot be combined with the visit warm, whose connections are open already; visits: first")
	}
	if t.Speaks(GRPCConnectClient) && t.HTTP != 2 {
		return fmt.Errorf("http is %d; versions with %s: 2", t.HTTP, GRPCConnectClient)
	}
	for channel, entry := range t.Entry {
		if err := channel.Check(); err != nil {
			return fmt.Errorf("entry: %w", err)
		}
		if err := choice.Check(entry.Protocol, protocols, "protocol", "protocols"); err != nil {
			return fmt.Errorf("entry %s: %w", channel, err)
		}
		if entry.Protocol == Thrift {
			if err := entry.checkServices(); err != nil {
				return fmt.Errorf("entry %s: %w", channel, err)
			}
			continue
		}
		if !entry.at(scheme, false) {
			return fmt.Errorf("entry %s: url %q is not of the form %s://host:port, as it must be %s ca_certificate", channel, entry.URL, scheme, why)
		}
	}
	return nil
}

// at tells whether an entry's URL is a base URL of the scheme; path allows a path in it.
func (e Entry) at(scheme string, path bool) bool {
	u, err := url.Parse(e.URL)
	return err == nil && u.Scheme == scheme && u.Host != "" && (u.Path == "" || path && !strings.HasSuffix(u.Path, "/"))
}

// checkEndpoints checks the endpoints of the steps of a target other than the shop.
func (t Target) checkEndpoints(scheme string) error {
	if len(t.Endpoints) == 0 || t.HTTP == 3 {
		return fmt.Errorf("steps need endpoints, over HTTP/1.1 or 2; there are %d, and http is %d", len(t.Endpoints), t.HTTP)
	}
	for name, endpoint := range t.Endpoints {
		if err := choice.Check(endpoint.Protocol, []Protocol{REST, GRPC}, "protocol", "protocols"); err != nil {
			return fmt.Errorf("endpoint %s: %w", name, err)
		}
		if endpoint.Socket != "" && len(t.Networks) > 0 {
			return fmt.Errorf("endpoint %s: networks are emulated for TCP, and %s is a Unix socket", name, endpoint.Socket)
		}
		if !endpoint.at(scheme, endpoint.Protocol == REST) {
			return fmt.Errorf("endpoint %s: url %q is not of the form %s://host:port, with a path for %s only", name, endpoint.URL, scheme, REST)
		}
	}
	return nil
}

func (t Target) Entries() []Entry {
	if t.Steps != "" {
		return slices.Collect(maps.Values(t.Endpoints))
	}
	return slices.Collect(maps.Values(t.Entry))
}

// services are the services that a client of framed Thrift calls.
var services = []string{"order", "payment", "product", "user"}

func (e Entry) checkServices() error {
	for _, service := range services {
		if len(e.Services[service]) == 0 {
			return fmt.Errorf("services has no address of %q; clients of %s call: %s", service, Thrift, choice.List(services))
		}
	}
	return nil
}

// EntryOf returns the entry of a channel, or an error if it is missing.
func (t Target) EntryOf(c Channel) (Entry, error) {
	if t.Steps != "" {
		return Entry{Protocol: Steps, URL: t.Entries()[0].URL}, nil // the first step sets its own endpoint
	}
	entry, served := t.Entry[c]
	if !served {
		return Entry{}, fmt.Errorf("topology %q has no entry for the channel %q", t.Topology, c)
	}
	return entry, nil
}

func (t Target) Speaks(p Protocol) bool {
	return slices.ContainsFunc(t.Entries(), func(e Entry) bool { return e.Protocol == p })
}

// SpeaksHTTP tells whether any channel speaks a protocol whose requests are plain HTTP.
func (t Target) SpeaksHTTP() bool {
	return slices.ContainsFunc(protocols, func(p Protocol) bool { return p != GRPC && p != Thrift && t.Speaks(p) })
}
