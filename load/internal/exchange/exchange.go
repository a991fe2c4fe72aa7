package exchange

import (
	"sync"
	"sync/atomic"

	"hopwise/load/internal/telemetry"
)

// Exchange is the traffic of one journey. Its methods may be called side by side.
type Exchange struct {
	at    *Entrance
	trace *telemetry.Journey

	mu       sync.Mutex
	requests int64
	inFlight int64
	parallel int64
	waves    int64

	sizes  sizeCounter
	status atomic.Int64
}

// Sizes are those of bodies, without headers and framing: HTTP bodies, gRPC messages.
type Sizes struct {
	In    int64 // received, as they were on the wire (compressed if they were)
	InRaw int64 // received, decompressed
	Out   int64 // sent; none of them is compressed
}

type sizeCounter struct{ in, inRaw, out atomic.Int64 }

// New returns the traffic of a journey that has not sent anything yet.
func New(at *Entrance, trace *telemetry.Journey) *Exchange { return &Exchange{at: at, trace: trace} }

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
	Waves    int64 // times that a request began while none was under way
	Parallel int64 // most requests under way at a time
}

// Shape returns the shape of the journey so far.
func (x *Exchange) Shape() Shape {
	x.mu.Lock()
	defer x.mu.Unlock()
	return Shape{Requests: x.requests, Waves: x.waves, Parallel: x.parallel}
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

func (x *Exchange) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.inFlight--
}
