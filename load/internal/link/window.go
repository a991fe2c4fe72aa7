package link

import "time"

const initialSegments = 10 // RFC 6928

// window is the congestion window of a sender on a new connection, in slow start: it grows by the acknowledged bytes,
// and so doubles in each round trip. Without loss, slow start does not end.
type window struct {
	bytes    int
	inFlight int
	acks     []ack // in the order of their arrival
}

type ack struct {
	at    time.Time
	bytes int
}

func newWindow() *window { return &window{bytes: initialSegments * segment} }

// opens returns the earliest time, not before the given instant, at which the window admits the bytes.
func (w *window) opens(from time.Time, bytes int) time.Time {
	for len(w.acks) > 0 && (!w.acks[0].at.After(from) || w.inFlight+bytes > w.bytes) {
		acknowledged := w.acks[0]
		w.acks = w.acks[1:]
		w.inFlight -= acknowledged.bytes
		w.bytes += acknowledged.bytes
		if acknowledged.at.After(from) {
			from = acknowledged.at
		}
	}
	return from
}

// sent records bytes whose acknowledgement arrives at the given instant.
func (w *window) sent(bytes int, acknowledged time.Time) {
	w.inFlight += bytes
	w.acks = append(w.acks, ack{acknowledged, bytes})
}
