package link

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Passage has the times at which a part of a stream, or a datagram, crossed the link.
type Passage struct {
	In  time.Time // when it entered
	Out time.Time // when it came out, or is due to
}

// parcel is a piece of data that crosses a link undivided.
type parcel struct {
	Passage
	data    []byte
	more    bool     // whether the rest of the same write follows, without which this piece is useless
	address net.Addr // address of a datagram
	err     error    // end of the stream, without data
}

// Crossing is a part of a stream, or a datagram, on its way through the link.
type Crossing struct {
	queue  *queue
	parcel *parcel
}

// Passage returns when the data crossed; the zero passage if there is no data.
func (c Crossing) Passage() Passage {
	if c.parcel == nil {
		return Passage{}
	}
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	return c.parcel.Passage
}

// kept is how many of the latest parcels a queue remembers for callers who learn late that a request was sent.
const kept = 64

// queue holds the parcels on their way through a link, in order, and releases them when they are due.
type queue struct {
	clock    *Clock
	added    chan struct{} // has room for one signal
	closed   chan struct{}
	deadline deadline

	taking  sync.Mutex // held while a parcel is taken from the queue
	mu      sync.Mutex
	parcels []*parcel
	put     [kept]*parcel // ring of the latest parcels
	puts    int           // number of parcels so far
	out     Passage       // passage of the latest released parcel
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

// next waits until the first parcel is due and returns it; the parcel stays in the queue until take is called.
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

// came records when a parcel came out.
func (q *queue) came(p *parcel, at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p.Out = at
	if p.err == nil {
		q.out = p.Passage
	}
}

func (q *queue) take() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.parcels[0].data = nil // the parcel may be kept in put
	q.parcels[0] = nil
	q.parcels = q.parcels[1:]
}

func (q *queue) due() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.parcels) > 0 && time.Until(q.parcels[0].Out) <= 0
}

// read is net.Conn's Read from the queue: it returns as much due data as fits.
func (q *queue) read(p []byte) (n int, err error) {
	q.taking.Lock()
	defer q.taking.Unlock()
	for n == 0 || n < len(p) && q.due() {
		first, err := q.next()
		if err != nil {
			return n, err
		}
		if first.err != nil { // the end stays in the queue for the next Read
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

// readFrom is net.PacketConn's ReadFrom: one datagram, truncated if it does not fit.
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

func (q *queue) last() Crossing {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.puts == 0 {
		return Crossing{}
	}
	return Crossing{q, q.put[(q.puts-1)%kept]}
}

// since returns the first remembered parcel that entered at the given instant or later.
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

// latest returns the passage of the latest released parcel.
func (q *queue) latest() Passage {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.out
}

// drain releases parcels in order until the end of the stream.
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
