package link

import (
	"sync"
	"time"
)

type record struct {
	sent, received *queue
	trips          *trips
}

type trips struct {
	mu      sync.Mutex
	count   int
	pending time.Time // when the first data sent since the latest round trip comes out; zero if nothing was sent
}

// newRecord returns the record of a connection; opening is the number of round trips that its opening took.
func newRecord(up, down *queue, opening int) record {
	return record{sent: up, received: down, trips: &trips{count: opening}}
}

func (r record) Sent() Crossing { return r.sent.last() }

// SentSince returns the crossing of the first data sent at the given instant or later, if little was sent after it.
func (r record) SentSince(at time.Time) Crossing { return r.sent.since(at) }

// Received returns the passage of the last byte, or the last datagram, that was read so far.
func (r record) Received() Passage { return r.received.latest() }

// RoundTrips returns how often data was sent and, after that data had arrived, the other end sent data.
func (r record) RoundTrips() int {
	r.trips.mu.Lock()
	defer r.trips.mu.Unlock()
	return r.trips.count
}

func (r record) asked() {
	out := r.Sent().Passage().Out
	r.trips.mu.Lock()
	defer r.trips.mu.Unlock()
	if r.trips.pending.IsZero() {
		r.trips.pending = out
	}
}

func (r record) answered() {
	in := r.Received().In
	r.trips.mu.Lock()
	defer r.trips.mu.Unlock()
	if !r.trips.pending.IsZero() && !in.Before(r.trips.pending) {
		r.trips.count++
		r.trips.pending = time.Time{}
	}
}
