package link

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Passage is how a part of a stream, or a datagram, crossed the link.
type Passage struct {
	In  time.Time // handed in
	Out time.Time // came out; when it is due to, if it did not yet
}

// parcel is what crosses a link in one piece.
type parcel struct {
	Passage
	data    []byte
	more    bool     // what was handed in with it follows, so that nobody can do anything with it alone
	address net.Addr // of a datagram
	err     error    // ends the stream; there is no data then
}

// Crossing is a part of a stream, or a datagram, on its way through the link.
type Crossing struct {
	queue  *queue
	parcel *parcel
}

// Passage returns how it crossed; the zero passage if nothing is on its way.
func (c Crossing) Passage() Passage {
	if c.parcel == nil {
		return Passage{}
	}
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	return c.parcel.Passage
}

// kept is how many parcels a queue remembers after they were handed in, so that a caller that notices later that a request has been
// sent still learns how it crossed.
const kept = 64

// queue holds what is on its way through a link, in order, and lets it out when it is due.
type queue struct {
	clock    *Clock
	added    chan struct{} // has room for one
	closed   chan struct{}
	deadline deadline

	taking  sync.Mutex // held while something is taken from the queue
	mu      sync.Mutex
	parcels []*parcel
	put     [kept]*parcel // the latest, in turn
	puts    int           // handed in so far
	out     Passage       // of the latest that came out
	once    sync.Once
}

func newQueue(c *Clock) *queue {
	return &queue{clock: c, added: make(chan struct{}, 1), closed: make(chan struct{})}
}

func (q *queue) add(p *parcel) {
	q.mu.Lock()
	q.parcels = append(q.parcels, p)
	q.put[q.puts%kept] = p
	q.puts++
	q.mu.Unlock()
	select {
	case q.added <- struct{}{}:
	default:
	}
}

func (q *queue) close() { q.once.Do(func() { close(q.closed) }) }

// next waits until the first parcel is due and returns it; it stays first until it is taken.
func (q *queue) next() (*parcel, error) {
	expired := q.deadline.passed()
	for {
		switch {
		case isClosed(q.closed):
			return nil, net.ErrClosed
		case isClosed(expired):
			return nil, os.ErrDeadlineExceeded
		}
		q.mu.Lock()
		var first *parcel
		if len(q.parcels) > 0 {
			first = q.parcels[0]
		}
		q.mu.Unlock()
		switch {
		case first == nil:
			select {
			case <-q.added:
			case <-q.closed:
			case <-expired:
			}
		case time.Until(first.Out) <= 0:
			q.came(first, first.Out)
			return first, nil
		case q.clock.until(first.Out, !first.more, q.closed, expired):
			q.came(first, time.Now())
			return first, nil
		}
	}
}

// came notes when a parcel came out.
func (q *queue) came(p *parcel, at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p.Out = at
	if p.err == nil {
		q.out = p.Passage
	}
}

// take removes the first parcel.
func (q *queue) take() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.parcels[0].data = nil // it may be remembered for longer
	q.parcels[0] = nil
	q.parcels = q.parcels[1:]
}

// due says whether a parcel is there that need not be waited for.
func (q *queue) due() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.parcels) > 0 && time.Until(q.parcels[0].Out) <= 0
}

// read is net.Conn's Read from the queue: all that is due and has room.
func (q *queue) read(p []byte) (n int, err error) {
	q.taking.Lock()
	defer q.taking.Unlock()
	for n == 0 || n < len(p) && q.due() {
		first, err := q.next()
		if err != nil {
			return n, err
		}
		if first.err != nil { // stays for the next Read
			if n > 0 {
				return n, nil
			}
			return 0, first.err
		}
		copied := copy(p[n:], first.data)
		n += copied
		if first.data = first.data[copied:]; len(first.data) == 0 {
			q.take()
		}
		if len(p) == 0 {
			return 0, nil
		}
	}
	return n, nil
}

// readFrom is net.PacketConn's ReadFrom: one datagram, cut off if there is no room.
func (q *queue) readFrom(p []byte) (int, net.Addr, error) {
	q.taking.Lock()
	defer q.taking.Unlock()
	first, err := q.next()
	switch {
	case err != nil:
		return 0, nil, err
	case first.err != nil:
		return 0, nil, first.err
	}
	defer q.take()
	return copy(p, first.data), first.address, nil
}

// last returns the latest parcel that was handed in.
func (q *queue) last() Crossing {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.puts == 0 {
		return Crossing{}
	}
	return Crossing{q, q.put[(q.puts-1)%kept]}
}

// since returns the first parcel that was handed in at an instant or later, of those remembered.
func (q *queue) since(at time.Time) Crossing {
	q.mu.Lock()
	defer q.mu.Unlock()
	for n := max(q.puts-kept, 0); n < q.puts; n++ {
		if p := q.put[n%kept]; !p.In.Before(at) {
			return Crossing{q, p}
		}
	}
	return Crossing{}
}

// latest returns how the latest parcel crossed that came out.
func (q *queue) latest() Passage {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.out
}

// drain lets parcels out in order until the one that ends the stream.
func (q *queue) drain(out func(*parcel) error) error {
	for {
		first, err := q.next()
		switch {
		case err != nil:
			return err
		case first.err == io.EOF:
			return nil
		}
		if err := out(first); err != nil {
			return err
		}
		q.take()
	}
}
