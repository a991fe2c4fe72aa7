package link

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Link is one customer's access to the network: both directions, which all of the customer's connections share.
type Link struct {
	clock    *Clock
	network  Network
	visit    Visit
	up, down line
}

func New(c *Clock, n Network, v Visit) *Link {
	return &Link{
		clock: c, network: n, visit: v,
		up:   line{rate: n.Up, delay: n.RTT / 2},
		down: line{rate: n.Down, delay: n.RTT - n.RTT/2},
	}
}

func (l *Link) RTT() time.Duration { return l.network.RTT }

// Carried is the traffic of a link so far, in bytes, headers included.
type Carried struct{ Up, Down int64 }

// Carried returns the traffic that has entered the link so far.
func (l *Link) Carried() Carried { return Carried{l.up.sum(), l.down.sum()} }

func (l *line) sum() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.carried
}

// Dial opens a connection at the far end of the link, which takes a round trip.
func (l *Link) Dial(ctx context.Context, d *net.Dialer, network, address string) (*Conn, error) {
	far, err := d.DialContext(ctx, network, address)
	if !l.clock.until(time.Now().Add(l.network.RTT), true, ctx.Done(), nil) && err == nil {
		_ = far.Close()
		return nil, &net.OpError{Op: "dial", Net: network, Addr: far.RemoteAddr(), Err: context.Cause(ctx)}
	}
	if err != nil {
		return nil, err
	}
	return l.wrap(far), nil
}

// Conn is a stream connection through a link. Write never blocks: data that a real sender would have to buffer is
// already on its way here. Data written before Close is still delivered.
type Conn struct {
	net.Conn
	record
	up, down *stream
	limit    deadline // deadline of Write
	failed   atomic.Pointer[error]
	once     sync.Once
}

var _ net.Conn = (*Conn)(nil)

const (
	readSize = 64 << 10
	// linger is how long the far end may take to accept data written before Close, once the data is due there.
	linger = time.Second
)

func (l *Link) wrap(far net.Conn) *Conn {
	up, down := l.stream(&l.up), l.stream(&l.down)
	c := &Conn{Conn: far, record: newRecord(up.queue, down.queue, 1), up: up, down: down}
	go c.sendUp()
	go c.receive()
	return c
}

// SlowStart returns how many round trips the received data has waited for the congestion window of a new connection.
func (c *Conn) SlowStart() int { return c.down.slowStart() }

// sendUp writes data from the link to the real connection, and closes that connection at the stream's end.
func (c *Conn) sendUp() {
	if err := c.up.drain(func(p *parcel) error {
		_, err := c.Conn.Write(p.data)
		return err
	}); err != nil {
		c.failed.Store(&err)
	}
	_ = c.Conn.Close()
}

// receive sends data from the real connection into the link.
func (c *Conn) receive() {
	buffer := make([]byte, readSize)
	for {
		n, err := c.Conn.Read(buffer)
		c.down.send(buffer[:n])
		if err != nil {
			c.down.end(err)
			return
		}
	}
}

func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.down.read(p)
	c.answered()
	return n, err
}

func (c *Conn) Write(p []byte) (int, error) {
	if err := writable(c.down.queue, &c.limit); err != nil {
		return 0, err
	}
	if failure := c.failed.Load(); failure != nil {
		return 0, *failure
	}
	c.up.send(p)
	c.asked()
	return len(p), nil
}

// writable returns an error if nothing may be written to a connection.
func writable(open *queue, limit *deadline) error {
	switch {
	case isClosed(open.closed):
		return net.ErrClosed
	case isClosed(limit.passed()):
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Close ends the connection at once for its user, and at the far end once all written data has come out.
func (c *Conn) Close() error {
	c.once.Do(func() {
		c.down.close()
		due := c.up.end(io.EOF)
		_ = c.Conn.SetWriteDeadline(due.Add(linger))
	})
	return nil
}

func (c *Conn) SetDeadline(t time.Time) error {
	c.down.deadline.set(t)
	c.limit.set(t)
	return nil
}

func (c *Conn) SetReadDeadline(t time.Time) error {
	c.down.deadline.set(t)
	return nil
}

func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.limit.set(t)
	return nil
}
