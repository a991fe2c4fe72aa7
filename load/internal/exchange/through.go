package exchange

import (
	"context"
	"net"
	"net/http/httptrace"
	"net/netip"
	"sync"
	"time"

	"hopwise/load/internal/link"
	"hopwise/load/internal/wire"
)

// through reaches the edge over a link, and keeps the connections that it opened.
type through struct {
	link *link.Link
	open sync.Map // connection by localAddress
}

var _ reach = (*through)(nil)

func (t *through) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := t.link.Dial(ctx, dialer, network, address)
	if err != nil {
		return nil, err
	}
	t.open.Store(localAddress(c.LocalAddr()), &connection{traffic: c})
	return c, nil
}

func (t *through) Packets(socket wire.Socket) net.PacketConn {
	c := t.link.Packets(socket)
	t.open.Store(localAddress(c.LocalAddr()), &connection{traffic: c})
	return c
}

func (t *through) At(local net.Addr) *connection {
	c, _ := t.open.Load(localAddress(local))
	known, _ := c.(*connection)
	return known
}

func (t *through) Emulated() bool     { return true }
func (t *through) RTT() time.Duration { return t.link.RTT() }

// localAddress returns the key of a customer's connection.
func localAddress(a net.Addr) (key struct {
	network string
	port    uint16
}) {
	address, _ := netip.ParseAddrPort(a.String())
	key.network, key.port = a.Network(), address.Port()
	return key
}

// traffic has the records of a connection through a link.
type traffic interface {
	Sent() link.Crossing
	SentSince(time.Time) link.Crossing
	Received() link.Passage
	RoundTrips() int
	SlowStart() int
}

var (
	_ traffic = (*link.Conn)(nil)
	_ traffic = (*link.PacketConn)(nil)
)

type connection struct {
	traffic
	mu      sync.Mutex
	opened  time.Time              // when it was open, recorded by its first request; zero if no request opened it
	latest  *crossing              // its latest request, over HTTP/1.1
	streams map[string]uint32      // gRPC's streams by traceparent
	sent    map[uint32]sentRequest // gRPC's requests by stream
}

// given records that a request got the connection. It returns when the connection was open and, for HTTP/1.1, the
// crossing of the request that used the connection before, or nil if the connection was idle.
func (c *connection) given(to *crossing, now time.Time, info httptrace.GotConnInfo) (opened time.Time, before *crossing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	oneByOne := to.client.http == 1
	// net/http calls an HTTP/1.1 connection reused if it was opened for one request but stayed idle or went to another.
	if c.opened.IsZero() && (oneByOne || !info.Reused) {
		c.opened = now.Add(-info.IdleTime)
	}
	if oneByOne {
		if !info.WasIdle {
			before = c.latest
		}
		c.latest = to
	}
	return c.opened, before
}

// sentRequest has the crossings of the first and the last part of a request.
type sentRequest struct{ first, last link.Crossing }

// wrote records that a part of a gRPC request was sent just now.
func (c *connection) wrote(stream uint32, ends bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Sent()
	request, begun := c.sent[stream]
	if !begun {
		request.first = now
	}
	if ends {
		request.last = now
	}
	if c.sent == nil {
		c.sent = map[uint32]sentRequest{}
	}
	c.sent[stream] = request
}

// named records which request a gRPC stream carries.
func (c *connection) named(traceparent string, stream uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams == nil {
		c.streams = map[string]uint32{}
	}
	c.streams[traceparent] = stream
}

// requestOf returns how a gRPC request was sent, and deletes the record of it.
func (c *connection) requestOf(traceparent string) sentRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	stream := c.streams[traceparent]
	defer delete(c.streams, traceparent)
	defer delete(c.sent, stream)
	return c.sent[stream]
}
