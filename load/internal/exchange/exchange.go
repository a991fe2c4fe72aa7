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

// Exchange is the traffic of one journey. Its methods may be called side by side.
type Exchange struct {
	at     *Entrance
	trace  *telemetry.Journey
	apart  string // kind of journey that its requests name to the edge; empty for none
	urgent bool   // whether requests say how urgent they are, by Urgent
	buys   bool   // whether those before the first answer begin a checkout
	cache  *Cache // nil if no answers are kept
	needs  need.Fields

	mu       sync.Mutex
	requests int64
	inFlight int64
	parallel int64
	waves    int64
	thought  time.Duration
	crossed  []crossed // requests that have ended; none where no network is emulated

	beyond need.Beyond
	sizes  sizeCounter
	status atomic.Int64
}

const (
	priorityHeader = "priority"
	underWay       = "u=0" // the urgency of what is new is 3
	checkout       = "u=1"
)

// Sizes are those of bodies, without headers and framing: HTTP bodies, gRPC messages.
type Sizes struct {
	In    int64 // received, as they were on the wire (compressed if they were)
	InRaw int64 // received, decompressed
	Out   int64 // sent; none of them is compressed
}

type sizeCounter struct{ in, inRaw, out atomic.Int64 }

// New returns the traffic of a journey that has not sent anything yet.
func New(at *Entrance, trace *telemetry.Journey) *Exchange { return &Exchange{at: at, trace: trace} }

// Apart has all requests name the kind of journey to the edge, which then leads them to components that it has for it alone.
func (x *Exchange) Apart(kind string) { x.apart = kind }

// Urgent has requests say how urgent they are (RFC 9218): those after the first answer are under way, and the ones before it may begin a checkout.
func (x *Exchange) Urgent(buys bool) { x.buys, x.urgent = buys, true }

// priority is what a request that begins now says about its urgency; empty for nothing.
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

// Toward has the requests that follow go to another entrance of the client; nothing may be under way.
func (x *Exchange) Toward(url string) { x.at = x.at.client.At(url) }

// At names the entrance that requests go to.
func (x *Exchange) At() string { return x.at.String() }

// Base returns the URL of the entrance that requests go to.
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

// Thought is how long the journey has waited in Think.
func (x *Exchange) Thought() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.thought
}

// Keep has answers kept, and asks for those that are whether they have changed; nil for neither.
func (x *Exchange) Keep(c *Cache) { x.cache = c }

// Need has answers compared with the fields that the journey's screen shows; without fields, nothing is.
func (x *Exchange) Need(fields []string) { x.needs = fields }

// Beyond returns what the answers so far have beyond the need; nil without a need, and if no answer could be compared.
func (x *Exchange) Beyond() *need.Beyond {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.beyond.Fields == 0 {
		return nil
	}
	return &x.beyond
}

// packed says whether answers came compressed.
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

// Untraced returns traffic that belongs to no journey.
func Untraced(at *Entrance) *Exchange { return New(at, telemetry.Untraced()) }

// Sizes returns the sizes of the bodies so far.
func (x *Exchange) Sizes() Sizes {
	return Sizes{In: x.sizes.in.Load(), InRaw: x.sizes.inRaw.Load(), Out: x.sizes.out.Load()}
}

// Status is the latest HTTP status, 0 if there was none; that of a gRPC answer is 200, as on the wire.
func (x *Exchange) Status() int { return int(x.status.Load()) }

// Shape says how a journey's requests followed each other.
type Shape struct {
	Requests int64 // sent
	Waves    int64 // times that the journey began to wait for a request: none was under way, or another one had the connection for the next
	Parallel int64 // most requests under way at a time

	Network           time.Duration // that the link took of the journey
	OpeningRoundTrips int64         // that requests waited for connections to be opened, and answers for the windows of new ones
}

// Shape returns the shape of the journey so far.
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

// critical returns the requests that the journey waited for: the one that ended last, before it the one that ended last before that
// began, and so on. Before a request that waited for another's connection it is that other one.
func critical(requests []crossed) (path []crossed) {
	latest := slices.SortedFunc(slices.Values(requests), func(a, b crossed) int { return b.whole.to.Compare(a.whole.to) })
	for _, request := range latest {
		if len(path) == 0 || path[len(path)-1].follows(request) {
			path = append(path, request)
		}
	}
	return path
}

// follows says whether a request could not be sent before an earlier one was answered.
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

// end notes the end of a request and returns its call, of which nothing but its outcome is missing.
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
