// Package exchange sends the requests of journeys, over HTTP and gRPC, and counts what they cost.
package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"hopwise/load/internal/target"
	"hopwise/load/internal/wire"
)

const (
	dialTimeout = 2 * time.Second
	// What the peer may send ahead, on one request and on one connection; as net/http has it, so that HTTP/2 is the same for
	// HTTP and gRPC clients.
	streamWindow     = 4 << 20
	connectionWindow = 1 << 30
)

// Client holds the connections to the edge that all simulated customers share: as many for HTTP as for gRPC, and none for
// what no channel of the target speaks.
//
// With HTTP/2 (gRPC always) every one of the connections carries many requests, chosen in turn. With HTTP/1.1 a
// connection carries one request at a time, so the number of connections is also the most requests under way; others wait
// for a free one.
type Client struct {
	base       *url.URL
	meter      wire.Meter
	transports []*http.Transport
	channels   []*grpc.ClientConn
	greetings  int // for each transport, side by side, before the load
	next       atomic.Uint64
}

// NewClient returns a client of the target's edge with at most so many connections.
func NewClient(t target.Target, connections int) (*Client, error) {
	base, err := url.Parse(t.Edge)
	if err != nil {
		return nil, err
	}
	c := &Client{base: base}
	if t.SpeaksHTTP() {
		count, perTransport := connections, 0
		if t.HTTP == 1 {
			count, perTransport = 1, connections
		}
		c.greetings = max(perTransport, 1)
		for range count {
			c.transports = append(c.transports, c.newTransport(t.HTTP, perTransport))
		}
	}
	if t.Speaks(target.GRPC) {
		for range connections {
			channel, err := c.newChannel(base.Host)
			if err != nil {
				return nil, err
			}
			c.channels = append(c.channels, channel)
		}
	}
	return c, nil
}

func (c *Client) newTransport(version, connections int) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(version == 1)
	protocols.SetUnencryptedHTTP2(version == 2)
	dialer := &net.Dialer{Timeout: dialTimeout}
	return &http.Transport{
		Protocols:           &protocols,
		MaxConnsPerHost:     connections,
		MaxIdleConnsPerHost: max(connections, 1),
		DisableCompression:  true, // bodies are decompressed here, so that their compressed size can be counted
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return c.meter.Dial(ctx, dialer, network, address)
		},
	}
}

// transport returns the transports in turn.
func (c *Client) transport() *http.Transport {
	return c.transports[c.next.Add(1)%uint64(len(c.transports))]
}

// Connect opens the connections before the load, so that no journey pays for it.
func (c *Client) Connect(ctx context.Context) error {
	var wait sync.WaitGroup
	errs := make(chan error, len(c.transports)*c.greetings+len(c.channels))
	for _, transport := range c.transports {
		for range c.greetings {
			wait.Go(func() { errs <- c.greet(ctx, transport) })
		}
	}
	for _, channel := range c.channels {
		wait.Go(func() { errs <- await(ctx, channel) })
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return fmt.Errorf("the edge %s does not answer: %w", c.base, err)
		}
	}
	return nil
}

func (c *Client) greet(ctx context.Context, transport *http.Transport) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.String()+"/healthz", nil)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, maxBody)) // else the connection would not be kept
	return errors.Join(err, response.Body.Close())
}

// Meter counts what crosses the client's connections.
func (c *Client) Meter() *wire.Meter { return &c.meter }

// Close closes the connections; requests under way on HTTP connections may end first.
func (c *Client) Close() {
	for _, transport := range c.transports {
		transport.CloseIdleConnections()
	}
	for _, channel := range c.channels {
		_ = channel.Close()
	}
}
