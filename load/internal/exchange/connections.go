// Package exchange sends journeys' requests over HTTP, gRPC and framed Thrift, and counts bytes and round trips.
package exchange

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"hopwise/load/internal/target"
	"hopwise/load/internal/wire"
)

const (
	unix        = "unix" // the network of Unix sockets
	dialTimeout = 2 * time.Second
	// Flow control windows of a request and a connection: net/http's values, also for gRPC clients.
	streamWindow     = 4 << 20
	connectionWindow = 1 << 30
	// Maximum number of connections opened in parallel before the load: more handshakes would delay each other.
	openingAtOnce = 16
)

// Client holds the connections that all simulated customers share. Each entrance has the same number of connections for
// HTTP as for gRPC, but no connection for a protocol that no channel speaks there.
//
// With HTTP/3 and HTTP/2 (always used by gRPC), each connection carries many requests, up to the server's limit on
// streams; requests use the connections in turn. With HTTP/1.1 and framed Thrift, a connection carries one request at a
// time; further requests wait, and do not open another connection. Framed Thrift has this number of connections to each
// service.
//
// If the target says so, each request opens a new connection instead, which is closed after the answer.
type Client struct {
	meter         *wire.Meter
	reach         reach
	tls           *tls.Config // nil for connections without TLS
	caCertificate string      // file with the trusted certificates
	own           *own        // nil for the shop
	http          int         // HTTP version of channels that do not speak gRPC
	fresh         bool        // whether each request opens a new connection
	transports    []transport // each opens its own connections to every address
	greetings     int         // parallel greetings for each transport and address, before the load
	entrances     map[string]*Entrance
	sockets       map[string]string // path of the Unix socket that is dialled for host and port
	procedures    sync.Map          // client of connect-go by procedure

	acceptEncoding []string // content encodings that answers over HTTP may have
}

type Entrance struct {
	client   *Client
	base     *url.URL
	host     string             // Host header of requests
	http     bool               // whether a channel speaks plain HTTP here
	framed   map[string]*framed // connections for framed Thrift, by service; none if no channel speaks it
	channels []*grpc.ClientConn // none if no channel speaks gRPC here

	requests, calls atomic.Uint64 // over HTTP and gRPC so far, to use the connections in turn
}

// String is the entrance's URL, as it is in the target file.
func (at *Entrance) String() string {
	speaks := at.base.Scheme
	if at.client.own != nil && !at.http {
		speaks = strings.Replace(speaks, "http", "grpc", 1)
	}
	if path := at.client.sockets[at.base.Host]; path != "" {
		return speaks + "+unix:" + path
	}
	return speaks + strings.TrimPrefix(at.base.String(), at.base.Scheme)
}

// NewClient returns a client of the target; connections is the maximum number of connections to each of its entrances.
func NewClient(t target.Target, connections int) (*Client, error) {
	return newClient(t, counts{http: connections, grpc: connections}, &wire.Meter{}, direct{})
}

type counts struct{ http, grpc int }

func newClient(t target.Target, connections counts, meter *wire.Meter, over reach) (*Client, error) {
	c := &Client{meter: meter, reach: over, entrances: map[string]*Entrance{}, sockets: map[string]string{}, caCertificate: t.CACertificate, http: t.HTTP, fresh: t.Fresh, own: ownOf(t), acceptEncoding: acceptGzip}
	if t.Uncompressed {
		c.acceptEncoding = acceptIdentity
	}
	if c.fresh {
		connections = counts{http: 1, grpc: 1} // these connections only show that the entrances answer
	}
	var err error
	if c.tls, err = newTLS(t); err != nil {
		return nil, err
	}
	if t.SpeaksHTTP() {
		count := connections.http
		c.greetings = 1
		if t.HTTP == 1 {
			count, c.greetings = 1, connections.http
		}
		for range count {
			c.transports = append(c.transports, c.newTransport(t.HTTP, c.greetings))
		}
	}
	for _, entry := range t.Entries() {
		if err := c.open(entry, connections.grpc); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// open makes the entrance and the channels that an entry needs, unless another entry has already made them.
func (c *Client) open(entry target.Entry, channels int) error {
	at, known := c.entrances[entry.URL]
	if !known {
		base, err := url.Parse(entry.URL)
		if err != nil {
			return err
		}
		at = &Entrance{client: c, base: base, host: base.Host}
		if entry.Socket != "" {
			c.sockets[base.Host], at.host = entry.Socket, "localhost"
		}
		c.entrances[entry.URL] = at
	}
	switch entry.Protocol {
	case target.GRPC:
	case target.Thrift:
		at.openFramed(entry.Services, channels)
		return nil
	default:
		at.http = true
		return nil
	}
	for len(at.channels) < channels {
		channel, err := c.NewChannel(at.base.Host)
		if err != nil {
			return err
		}
		at.channels = append(at.channels, channel)
	}
	return nil
}

func (c *Client) At(url string) *Entrance { return c.entrances[url] }

// NewTransport returns a transport that sends HTTP requests on one connection, which the first request opens. The
// requests belong to no journey: they have no span, and may last longer than a journey.
func (c *Client) NewTransport() http.RoundTripper { return c.newTransport(c.http, 1) }

func (c *Client) newTransport(version, connections int) transport {
	switch version {
	case 3:
		return c.newQUICTransport()
	case 2:
		return c.newMultiplexer()
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	open := func(ctx context.Context, _, address string) (net.Conn, error) {
		return c.dialHTTP(ctx, version, address)
	}
	return &http.Transport{
		DisableKeepAlives:   c.fresh,
		Protocols:           &protocols,
		MaxConnsPerHost:     connections,
		MaxIdleConnsPerHost: max(connections, 1),
		DisableCompression:  true, // bodies are decompressed here, so that their compressed size can be counted
		DialContext:         open,
		DialTLSContext:      open,
	}
}

// reach is how a client's connections reach the edge: directly, or over an emulated network.
type reach interface {
	wire.Dialer
	// Packets returns a socket that uses the given socket, over the emulated network if there is one.
	Packets(socket wire.Socket) net.PacketConn
	// At returns the connection with the given local address; nil if no network is emulated.
	At(local net.Addr) *connection
	Emulated() bool
	RTT() time.Duration // of the emulated network; 0 without one
}

type direct struct{}

var _ reach = direct{}

var dialer = &net.Dialer{Timeout: dialTimeout}

func (direct) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return dialer.DialContext(ctx, network, address)
}

func (direct) Packets(socket wire.Socket) net.PacketConn { return socket }
func (direct) At(net.Addr) *connection                   { return nil }
func (direct) Emulated() bool                            { return false }
func (direct) RTT() time.Duration                        { return 0 }

// openLimit is the time limit for opening a connection. Over an emulated network it has room for four round trips, as
// gRPC needs with TLS 1.2.
func (c *Client) openLimit() time.Duration { return dialTimeout + 4*c.reach.RTT() }

// dial opens a connection without TLS; TLS is added on top of it.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if path := c.sockets[address]; path != "" {
		network, address = unix, path
	}
	connection, err := c.meter.Dial(ctx, c.reach, network, address)
	if err != nil {
		return nil, err
	}
	if err := c.own.check(address, connection.RemoteAddr()); err != nil {
		_ = connection.Close()
		return nil, err
	}
	return connection, nil
}

// transport returns a new transport, or the next of the shared ones, and a function to call after the answer.
func (at *Entrance) transport() (t transport, leave func()) {
	c := at.client
	if c.fresh {
		own := c.newTransport(c.http, 0)
		return own, own.CloseIdleConnections
	}
	return c.transports[at.requests.Add(1)%uint64(len(c.transports))], func() {}
}

// Connect opens the connections before the load, so that no journey waits for that.
func (c *Client) Connect(ctx context.Context) error {
	for _, at := range c.entrances {
		if err := at.connect(ctx); err != nil {
			return fmt.Errorf("%s does not answer: %w", at, c.explain(err))
		}
	}
	if c.fresh {
		c.Close()
	}
	return nil
}

// connect opens the connections, a few at a time.
func (at *Entrance) connect(ctx context.Context) error {
	c := at.client
	var opening errgroup.Group
	slots := make(chan struct{}, openingAtOnce)
	start := func(open func(opened func()) error) {
		slots <- struct{}{}
		opened := sync.OnceFunc(func() { <-slots })
		opening.Go(func() error {
			defer opened()
			return open(opened)
		})
	}
	if at.http {
		for _, transport := range c.transports {
			arrive, all := gather(c.greetings)
			for range c.greetings {
				start(func(opened func()) error {
					arrived := sync.OnceFunc(arrive)
					defer arrived()
					return at.greet(ctx, transport, func() {
						opened()
						arrived()
						<-all
					})
				})
			}
		}
	}
	for _, channel := range at.channels {
		start(func(func()) error { return at.await(ctx, channel) })
	}
	for _, service := range at.framed {
		start(func(func()) error { return service.connect(ctx) })
	}
	return opening.Wait()
}

// gather returns a channel that is closed once each of a transport's greetings has arrived: it has a connection or has
// failed. Over HTTP/1.1, a connection whose greeting was answered would carry the next greeting too.
//
// The channel is also closed if no greeting arrives for a while after another. Some servers make handshakes only for as
// many connections as they have workers, and the workers wait for requests.
func gather(greetings int) (arrive func(), all <-chan struct{}) {
	gathered := make(chan struct{})
	end := sync.OnceFunc(func() { close(gathered) })
	patience := time.AfterFunc(dialTimeout/2, end)
	patience.Stop() // until the first arrival
	var missing atomic.Int64
	missing.Store(int64(greetings))
	return func() {
		patience.Reset(dialTimeout / 2)
		if missing.Add(-1) == 0 {
			end()
		}
	}, gathered
}

// greet sends a request on a new connection; connected is called before that, once the request has the connection.
func (at *Entrance) greet(ctx context.Context, transport transport, connected func()) error {
	method, path := http.MethodGet, "/healthz"
	if at.client.own != nil {
		method, path = http.MethodHead, "/" // any server answers this somehow, and the request changes nothing
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected() }})
	request, err := http.NewRequestWithContext(ctx, method, at.base.String()+path, nil)
	if err != nil {
		return err
	}
	request.Host = at.host
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, maxBody)) // else the connection would not be reused
	return cmp.Or(err, answer.Body.Close())
}

// Meter counts what crosses the client's connections.
func (c *Client) Meter() *wire.Meter { return c.meter }

// Close closes the connections; over HTTP/1.1, requests in flight end first.
func (c *Client) Close() {
	for _, transport := range c.transports {
		transport.CloseIdleConnections()
	}
	for _, at := range c.entrances {
		for _, channel := range at.channels {
			_ = channel.Close()
		}
		for _, service := range at.framed {
			service.close()
		}
	}
}
