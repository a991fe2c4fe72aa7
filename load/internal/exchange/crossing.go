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

// crossing follows one request and its answer: until its connection is open, if it has one of its own, and through a customer's link, if
// a network is emulated. It is nil where neither is so, and then follows nothing.
//
// Libraries say when they have written a request; how that crossed is what the connection sent then. It differs between them
// what "written" means:
//
//   - HTTP/1.1: in a buffer. Nothing else is sent on the connection meanwhile, so the request is all that was sent until it was answered.
//   - HTTP/2: sent. No other request can be sent between headers and their event; one may be between a body and its.
//   - HTTP/3: in a buffer, and the next datagram has its end.
//   - gRPC: queued. Its frames tell (see frames).
type crossing struct {
	client *Client
	body   bool // of the request
	began  time.Time

	mu         sync.Mutex
	connection *connection // on which the request goes; nil so far
	got        time.Time   // when it got the connection
	opened     time.Time   // when that was open, if the request waited for it; else zero
	trips      int         // that opening the connection took, and the answer waited for its window
	slowed     int         // round trips that answers before this one had waited for the window
	behind     *crossing   // of the request that it waited for, which had the connection; nil if it waited for none
	request    sentRequest
	wrote      time.Time
	rpc        string // traceparent of a request of gRPC
	down       link.Passage
}

// follow returns what follows a request that begins now.
func (c *Client) follow(body bool) *crossing {
	if !c.reach.Emulated() && !c.fresh {
		return nil
	}
	return &crossing{client: c, body: body, began: time.Now()}
}

// traced returns the context with which a request over HTTP is followed.
func (w *crossing) traced(ctx context.Context) context.Context {
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

// near notes when a connection was open that crosses no link; it matters if it is the request's own.
func (w *crossing) near(opened time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.client.fresh {
		w.opened = opened
	}
}

// open notes until when the request waited for its connection to be opened; zero if it did not. Behind another request, the round
// trips are that one's.
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

// answered notes that an answer over HTTP has begun.
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

// read notes that the answer has been read to its end.
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

// connected notes that there is a connection at last for a request over gRPC, which had none that was open.
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

// queued notes that gRPC has queued the request for a connection, with this traceparent.
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

// stretch is a part of the time that a request took.
type stretch struct{ from, to time.Time }

func (s stretch) length() time.Duration { return s.to.Sub(s.from) }

// crossed is how a request that has ended crossed the link. Its stretches follow each other, and those that there were not are
// zero.
type crossed struct {
	whole     stretch
	handshake stretch // waiting for a connection that was not open
	waiting   stretch // then for one that another request had
	up        stretch // from the request's first byte to its last at the far end
	down      stretch // the answer's last byte, from the far end
	trips     int     // round trips of the handshake, and that the answer waited for the connection's window

	way, behind *crossing // its own, and of the request that it waited for
}

// end ends the following.
func (w *crossing) end() (c crossed) {
	if w == nil {
		return c
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	ended := w.began.Add(time.Since(w.began))
	c.whole, c.trips, c.way, c.behind = stretch{w.began, ended}, w.trips, w, w.behind
	w.behind = nil // which knows one before it, and so on
	// Times are relative to the beginning, by the monotonic clock, as those of spans are.
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
		out = w.down.In // answered before it had come whole
	}
	c.up = follow(request.first.Passage().In, out)
	c.down = follow(w.down.In, w.down.Out)
	return c
}

// part is a stretch by the name of its span.
type part struct {
	name string
	stretch
}

// parts are the stretches that took any time: Jaeger makes a nanosecond of a span that took none.
func (c crossed) parts() []part {
	all := []part{{telemetry.Handshake, c.handshake}, {telemetry.Waiting, c.waiting}, {telemetry.LinkUp, c.up}, {telemetry.LinkDown, c.down}}
	return slices.DeleteFunc(all, func(p part) bool { return p.length() == 0 })
}

// report puts the stretches into the trace of a call.
func (c crossed) report(call telemetry.Call) telemetry.Call {
	for _, p := range c.parts() {
		call.Within(p.name, p.from, p.to)
	}
	return call.EndedAt(c.whole.to)
}

// network is what the link took, without opening connections.
func (c crossed) network() time.Duration { return c.up.length() + c.down.length() }
