// Package exchange sends the HTTP requests of journeys and counts what they cost.
package exchange

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"hopwise/load/internal/target"
)

const dialTimeout = 2 * time.Second

// Client holds the connections to the edge that all simulated customers share.
//
// With HTTP/2 every one of the connections carries many requests, chosen in turn. With HTTP/1.1 a connection carries one
// request at a time, so the number of connections is also the most requests under way; others wait for a free one.
type Client struct {
	base       string
	transports []*http.Transport
	next       atomic.Uint64
	dialed     atomic.Int64
}

// NewClient returns a client of the target's edge with at most so many connections.
func NewClient(t target.Target, connections int) *Client {
	c := &Client{base: t.Edge}
	count, perTransport := connections, 0
	if t.HTTP == 1 {
		count, perTransport = 1, connections
	}
	for range count {
		c.transports = append(c.transports, c.newTransport(t.HTTP, perTransport))
	}
	return c
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
			conn, err := dialer.DialContext(ctx, network, address)
			if err == nil {
				c.dialed.Add(1)
			}
			return conn, err
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
	errs := make(chan error, len(c.transports))
	for _, transport := range c.transports {
		wait.Go(func() {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/healthz", nil)
			if err != nil {
				errs <- err
				return
			}
			response, err := transport.RoundTrip(request)
			if err != nil {
				errs <- err
				return
			}
			_ = response.Body.Close()
		})
	}
	wait.Wait()
	close(errs)
	if err := <-errs; err != nil {
		return fmt.Errorf("the edge %s does not answer: %w", c.base, err)
	}
	return nil
}

// Dialed is the number of connections opened so far.
func (c *Client) Dialed() int64 { return c.dialed.Load() }

// Close closes idle connections.
func (c *Client) Close() {
	for _, transport := range c.transports {
		transport.CloseIdleConnections()
	}
}
