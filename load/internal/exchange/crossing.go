package exchange

import (
	"context"
	"net"
	"net/http/httptrace"
	"slices"
	"sync"
	"time"

	"hopwise/load/internal/link"
	"hopwise/load/internal/telemetry"
)

// crossing follows one request and its answer: it records the wait for a connection to open and, if a network is
// emulated, the way through the customer's link. It is nil, and records nothing, if neither applies.
//
// Libraries report when they have written a request; the bytes that the connection sent then show how the request
// crossed. "Written" means something different in each library:
//
//   - HTTP/1.1: in a buffer. The connection carries nothing else before the answer, so all bytes belong to the request.
//   - HTTP/2: sent. Bytes of other requests cannot come between headers and their event, but may come between a body
//     and its event.
//   - HTTP/3: in a buffer; the next datagram contains the end of the request.
//   - gRPC: queued. Its frames show when it is sent (see frames).
type crossing struct {
	client *Client
	body   bool // whether the request has a body
	began  time.Time

	mu         sync.Mutex
	connection *connection // the request's connection; nil until it has one
	got        time.Time   // when the request got the connection
	opened     time.Time   // when the connection was open, if the request waited for it; else zero
	trips      int         // round trips for opening the connection, and for the answer's wait for the congestion window
	slowed     int         // round trips that earlier answers had waited for the congestion window
	behind     *crossing   // the request that had the connection while this one waited; nil if there was none
	request    sentRequest
	wrote      time.Time
	rpc        string // traceparent of a gRPC request
	down       link.Passage
}

func (c *Client) follow(body bool) *crossing {
	if !c.reach.Emulated() && !c.fresh {
		return nil
	}
	return &crossing{client: c, body: body, began: time.Now()}
}

// withTrace returns a context in which net/http reports the progress of a request to the crossing.
func (w *crossing) withTrace(ctx context.Context) context.Context {
	if w == nil {
		return ctx
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:      w.gotConnection,
		WroteHeaders: w.wroteHeaders,
		WroteRequest: w.wroteRequest,
	})
}

func (w *crossing) gotConnection(info httptrace.GotConnInfo) {
	now, c := time.Now(), w.client.reach.At(info.Conn.LocalAddr())
	if c == nil {
		w.near(now)
		return
	}
	opened, before := c.given(w, now, info)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got, w.connection, w.behind = now, c, before
	switch {
	case before == nil && opened.After(w.began):
		w.open(now)
	case opened.After(w.began):
		w.open(opened)
	default:
		w.open(time.Time{})
	}
}

// near records when a connection without a link was open; this matters only if the request opened the connection.
func (w *crossing) near(opened time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.client.fresh {
		w.opened = opened
	}
}

// open records until when the request waited for its connection to open; until is zero if it did not wait. If the
// request waited behind another request, the round trips belong to that request.
func (w *crossing) open(until time.Time) {
	w.request, w.wrote = sentRequest{}, time.Time{}
	w.opened, w.trips, w.slowed = until, 0, w.connection.SlowStart()
	if !until.IsZero() && w.behind == nil {
		w.trips = w.connection.RoundTrips()
	}
}

func (w *crossing) wroteHeaders() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.connection != nil && w.client.http == 2 {
		sent := w.connection.Sent()
		w.request = sentRequest{sent, sent}
	}
}

func (w *crossing) wroteRequest(httptrace.WroteRequestInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrote = time.Now()
	if w.connection != nil && w.client.http == 2 && w.body {
		w.request.last = w.connection.Sent()
	}
}

func (w *crossing) answered() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.connection == nil:
	case w.client.http == 1:
		w.request = sentRequest{w.connection.SentSince(w.got), w.connection.Sent()}
	case w.client.http == 3:
		w.request = sentRequest{w.connection.SentSince(w.got), w.connection.SentSince(w.wrote)}
	}
}

func (w *crossing) read() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.connection != nil {
		w.down = w.connection.Received()
		w.trips += w.connection.SlowStart() - w.slowed
	}
}

// connected records that a request over gRPC, which had found no open connection, has a connection now.
func (w *crossing) connected() {
	if w == nil {
		return
	}
	now := time.Now()
	if !w.client.reach.Emulated() {
		w.near(now)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got = now
}

// queued records that gRPC has queued the request for a connection, with this traceparent.
func (w *crossing) queued(local net.Addr, traceparent string) {
	if w == nil {
		return
	}
	c := w.client.reach.At(local)
	if c == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.connection, w.rpc = c, traceparent
	w.open(w.got)
}

type stretch struct{ from, to time.Time }

func (s stretch) length() time.Duration { return s.to.Sub(s.from) }

// crossed describes how a completed request crossed the link. Its stretches do not overlap, and may be zero.
type crossed struct {
	whole     stretch
	handshake stretch // wait for a connection to open
	waiting   stretch // after that, wait for a connection that another request used
	up        stretch // from when the request's first byte enters the link until its last byte comes out
	down      stretch // passage of the answer's last byte through the link
	trips     int     // round trips for the handshake, and for the answer's wait for the congestion window

	way, behind *crossing // crossings of this request, and of the request that it waited for
}

func (w *crossing) end() (c crossed) {
	if w == nil {
		return c
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	ended := w.began.Add(time.Since(w.began))
	c.whole, c.trips, c.way, c.behind = stretch{w.began, ended}, w.trips, w, w.behind
	w.behind = nil // frees the chain of earlier requests
	// Like the times of spans, these times are offsets from the beginning, measured by the monotonic clock.
	next := w.began
	follow := func(from, to time.Time) (s stretch) {
		if from.IsZero() || to.IsZero() {
			return s
		}
		s.from = w.began.Add(min(max(from.Sub(w.began), next.Sub(w.began)), ended.Sub(w.began)))
		s.to = w.began.Add(min(max(to.Sub(w.began), s.from.Sub(w.began)), ended.Sub(w.began)))
		next = s.to
		return s
	}
	c.handshake = follow(w.began, w.opened)
	if c.behind != nil {
		c.waiting = follow(next, w.got)
	}
	request := w.request
	if w.rpc != "" {
		request = w.connection.requestOf(w.rpc)
	}
	out := request.last.Passage().Out
	if !w.down.In.IsZero() && w.down.In.Before(out) {
		out = w.down.In // the answer came before the whole request had arrived
	}
	c.up = follow(request.first.Passage().In, out)
	c.down = follow(w.down.In, w.down.Out)
	return c
}

type part struct {
	name string
	stretch
}

// parts returns the stretches that took time: Jaeger shows a nanosecond for a span without duration.
func (c crossed) parts() []part {
	all := []part{{telemetry.Handshake, c.handshake}, {telemetry.Waiting, c.waiting}, {telemetry.LinkUp, c.up}, {telemetry.LinkDown, c.down}}
	return slices.DeleteFunc(all, func(p part) bool { return p.length() == 0 })
}

func (c crossed) report(call telemetry.Call) telemetry.Call {
	for _, p := range c.parts() {
		call.Within(p.name, p.from, p.to)
	}
	return call.EndedAt(c.whole.to)
}

// network returns the time on the link, without the time for opening connections.
func (c crossed) network() time.Duration { return c.up.length() + c.down.length() }
