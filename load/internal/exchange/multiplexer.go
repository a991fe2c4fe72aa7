package exchange

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"golang.org/x/net/http2"
)

// multiplexer sends HTTP/2 requests on one connection to each address. They wait while the server's limit on streams is
// reached.
//
// net/http would open another connection or, with StrictMaxConcurrentRequests, might wait forever, because its pool
// reserves the streams that requests wait for (golang.org/issue/70809). This pool reserves no streams.
type multiplexer struct {
	http2.Transport
	client *Client

	mu    sync.Mutex
	known map[string]*multiplexed // by host:port
}

var (
	_ transport            = (*multiplexer)(nil)
	_ http2.ClientConnPool = (*multiplexer)(nil)
)

// multiplexed is a connection, or the attempt to open it.
type multiplexed struct {
	done       chan struct{} // closed once the other fields are set
	connection *http2.ClientConn
	err        error
}

func (c *Client) newMultiplexer() *multiplexer {
	m := &multiplexer{client: c, known: map[string]*multiplexed{}, Transport: http2.Transport{
		AllowHTTP: true, DisableCompression: true, StrictMaxConcurrentStreams: true,
	}}
	m.ConnPool = m
	return m
}

func (m *multiplexer) GetClientConn(r *http.Request, address string) (*http2.ClientConn, error) {
	m.mu.Lock()
	at := m.known[address]
	if at == nil || !at.isUsable() {
		at = &multiplexed{done: make(chan struct{})}
		m.known[address] = at
		go func() {
			defer close(at.done)
			at.connection, at.err = m.open(address)
		}()
	}
	m.mu.Unlock()
	select {
	case <-at.done:
		return at.connection, at.err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func (m *multiplexed) isUsable() bool {
	select {
	case <-m.done:
		return m.err == nil && m.connection.CanTakeNewRequest()
	default:
		return true
	}
}

// isOpen tells whether the attempt has succeeded; before the attempt ends, no other field may be read.
func (m *multiplexed) isOpen() bool {
	select {
	case <-m.done:
		return m.err == nil
	default:
		return false
	}
}

// open opens a connection for all requests that arrive meanwhile, so no single request's deadline ends the attempt.
func (m *multiplexer) open(address string) (*http2.ClientConn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*m.client.openLimit())
	defer cancel()
	connection, err := m.client.dialHTTP(ctx, 2, address)
	if err != nil {
		return nil, err
	}
	return m.NewClientConn(connection)
}

// MarkDead removes a connection that was lost before its first request.
func (m *multiplexer) MarkDead(lost *http2.ClientConn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for address, at := range m.known {
		if at.isOpen() && at.connection == lost {
			delete(m.known, address)
		}
	}
}

// CloseIdleConnections closes all connections, even with a cancelled request, whose stream counts as active until the
// server answers a ping. A connection that is still being opened is closed once it is open.
func (m *multiplexer) CloseIdleConnections() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, at := range m.known {
		if at.isOpen() {
			_ = at.connection.Close()
			continue
		}
		go func() {
			if <-at.done; at.err == nil {
				_ = at.connection.Close()
			}
		}()
	}
}

var errNoHTTP2 = errors.New("no HTTP/2 connection can be opened to it")
