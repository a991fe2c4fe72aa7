package exchange

import (
	"context"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"hopwise/load/internal/need"
	"hopwise/load/internal/telemetry"
)

// Exchange is the traffic of one journey. Its methods may be called concurrently.
type Exchange struct {
	at     *Entrance
	trace  *telemetry.Journey
	apart  string // kind of journey that requests declare to the edge; empty for none
	urgent bool   // whether requests declare their urgency; set by Urgent
	buys   bool   // whether requests before the first answer begin a checkout
	cache  *Cache // nil if no answers are kept
	needs  need.Fields

	mu       sync.Mutex
	requests int64
	inFlight int64
	parallel int64
	waves    int64
	thought  time.Duration
	crossed  []crossed // ended requests; empty without an emulated network

	beyond need.Beyond
	sizes  sizeCounter
	status atomic.Int64
}

const (
	priorityHeader = "priority"
	underWay       = "u=0" // new requests have urgency 3
	checkout       = "u=1"
)

// Sizes are sizes of bodies, without headers and framing: HTTP bodies, gRPC messages.
type Sizes struct {
	In    int64 // received, as on the wire (compressed bodies in their compressed size)
	InRaw int64 // received, decompressed
	Out   int64 // sent; never compressed
}

type sizeCounter struct{ in, inRaw, out atomic.Int64 }

// New returns the traffic of a journey that has sent no requests yet.
func New(at *Entrance, trace *telemetry.Journey) *Exchange { return &Exchange{at: at, trace: trace} }

// Apart makes all requests name the kind of journey, so that the edge routes them to components for only this kind.
func (x *Exchange) Apart(kind string) { x.apart = kind }

// Urgent makes requests declare their urgency (RFC 9218): high for a checkout, highest after the first answer.
func (x *Exchange) Urgent(buys bool) { x.buys, x.urgent = buys, true }

// priority returns the urgency header of a request that begins now; empty for none.
func (x *Exchange) priority() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.urgent && x.requests > x.inFlight:
		return underWay
	case x.buys:
		return checkout
	default:
		return ""
	}
}

// declare adds the header fields that every request of a journey has.
func (x *Exchange) declare(traceContext, token string, add func(name, value string)) {
	add(traceparent, traceContext)
	if token != "" {
		add("authorization", "Bearer "+token)
	}
	if x.apart != "" {
		add(journeyHeader, x.apart)
	}
	if priority := x.priority(); priority != "" {
		add(priorityHeader, priority)
	}
}

// Toward sends later requests to another entrance of the client; no request may be in flight.
func (x *Exchange) Toward(url string) { x.at = x.at.client.At(url) }

func (x *Exchange) At() string     { return x.at.String() }
func (x *Exchange) Base() *url.URL { return x.at.base }

// Think waits as a customer does between requests, at most until the context ends.
func (x *Exchange) Think(ctx context.Context, pause time.Duration) {
	if pause <= 0 {
		return
	}
	began := time.Now()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	thought := time.Since(began)
	x.trace.Within(telemetry.Think, began, began.Add(thought))
	x.mu.Lock()
	defer x.mu.Unlock()
	x.thought += thought
}

// Thought returns how long the journey has waited in Think.
func (x *Exchange) Thought() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.thought
}

// Keep turns on the cache: answers are kept and revalidated. nil turns it off.
func (x *Exchange) Keep(c *Cache) { x.cache = c }

// Need turns on the comparison of answers with the fields that the journey's screen shows, if there are any.
func (x *Exchange) Need(fields []string) { x.needs = fields }

// Beyond returns how much of the answers so far the screen does not need; nil if nothing could be compared.
func (x *Exchange) Beyond() *need.Beyond {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.beyond.Fields == 0 {
		return nil
	}
	return &x.beyond
}

func (x *Exchange) packed() bool { return x.sizes.in.Load() < x.sizes.inRaw.Load() }

func (x *Exchange) compareMessage(answer any) {
	if message, ok := answer.(proto.Message); ok && len(x.needs) > 0 {
		x.compare(x.needs.OfMessage(message, x.packed()))
	}
}

func (x *Exchange) compare(b need.Beyond) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.beyond.Add(b)
}

func Untraced(at *Entrance) *Exchange { return New(at, telemetry.Untraced()) }

func (x *Exchange) Sizes() Sizes {
	return Sizes{In: x.sizes.in.Load(), InRaw: x.sizes.inRaw.Load(), Out: x.sizes.out.Load()}
}

// Status returns the latest HTTP status, 0 if there was none; a gRPC answer has status 200, as on the wire.
func (x *Exchange) Status() int { return int(x.status.Load()) }

// Shape describes the sequence of a journey's requests.
type Shape struct {
	Requests int64 // sent
	Waves    int64 // how often a request began while none was in flight, or had to wait for another request's connection
	Parallel int64 // maximum number of requests in flight at a time

	Network           time.Duration // the journey's time on the link
	OpeningRoundTrips int64         // round trips that requests waited for connections to open, and answers for the congestion windows of new connections
}

func (x *Exchange) Shape() Shape {
	x.mu.Lock()
	defer x.mu.Unlock()
	shape := Shape{Requests: x.requests, Waves: x.waves, Parallel: x.parallel}
	for _, c := range critical(x.crossed) {
		shape.Network += c.network()
		shape.OpeningRoundTrips += int64(c.trips)
		if c.behind != nil {
			shape.Waves++
		}
	}
	return shape
}

// critical returns the requests that the journey waited for, latest first: the request that ended last, then the last
// to end before that request began, and so on. If a request waited for another request's connection, that other request
// comes next.
func critical(requests []crossed) (path []crossed) {
	latest := slices.SortedFunc(slices.Values(requests), func(a, b crossed) int { return b.whole.to.Compare(a.whole.to) })
	for _, request := range latest {
		if len(path) == 0 || path[len(path)-1].follows(request) {
			path = append(path, request)
		}
	}
	return path
}

// follows tells whether a request could not be sent before an earlier one was answered.
func (c crossed) follows(earlier crossed) bool {
	if c.behind != nil {
		return c.behind == earlier.way
	}
	return !earlier.whole.to.After(c.whole.from)
}

func (x *Exchange) begin() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.requests++
	if x.inFlight == 0 {
		x.waves++
	}
	x.inFlight++
	x.parallel = max(x.parallel, x.inFlight)
}

// end records the end of a request and returns its call, complete except for its outcome.
func (x *Exchange) end(way *crossing, call telemetry.Call) telemetry.Call {
	crossed := way.end()
	x.mu.Lock()
	x.inFlight--
	if way != nil {
		x.crossed = append(x.crossed, crossed)
	}
	x.mu.Unlock()
	return crossed.report(call)
}
