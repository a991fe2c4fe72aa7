package link

import (
	"sync"
	"time"
)

// record is what a connection tells of its traffic.
type record struct {
	sent, received *queue
	trips          *trips
}

type trips struct {
	mu      sync.Mutex
	count   int
	pending time.Time // when what was sent since the latest round trip comes out first; zero if nothing was sent
}

// newRecord returns the record of a connection whose opening took so many round trips.
func newRecord(up, down *queue, opening int) record {
	return record{sent: up, received: down, trips: &trips{count: opening}}
}

// Sent returns what was sent last.
func (r record) Sent() Crossing { return r.sent.last() }

// SentSince returns what was sent first at an instant or later, as long as little was sent after it.
func (r record) SentSince(at time.Time) Crossing { return r.sent.since(at) }

// Received returns how the last byte, or the last datagram, crossed the link that was read so far.
func (r record) Received() Passage { return r.received.latest() }

// RoundTrips returns how often something was sent, and something came back that the other end sent after that had reached it.
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
