package link

import (
	"io"
	"net"
	"sync"
	"time"

	"hopwise/load/internal/wire"
)

// PacketConn carries datagrams through a link without loss; QUIC controls congestion itself. Datagrams written
// before Close are still delivered: with QUIC, they include the frame that closes the connection.
type PacketConn struct {
	wire.Socket
	record
	link     *Link
	up, down *queue
	limit    deadline   // deadline of WriteTo
	mu       sync.Mutex // keeps datagrams in the order of their writes
	once     sync.Once
}

var _ wire.Socket = (*PacketConn)(nil)

// Packets returns a socket whose datagrams go through the link in both directions.
func (l *Link) Packets(far wire.Socket) *PacketConn {
	up, down := newQueue(l.clock), newQueue(l.clock)
	c := &PacketConn{Socket: far, record: newRecord(up, down, 0), link: l, up: up, down: down}
	go c.sendUp()
	go c.receive()
	return c
}

// SlowStart returns 0: the link does not know QUIC's congestion window.
func (c *PacketConn) SlowStart() int { return 0 }

// sendUp writes datagrams from the link to the real socket, and closes the socket at the end.
func (c *PacketConn) sendUp() {
	_ = c.up.drain(func(p *parcel) error {
		_, _ = c.Socket.WriteTo(p.data, p.address) // a datagram that cannot be sent is lost, as on any network
		return nil
	})
	_ = c.Socket.Close()
}

func (c *PacketConn) receive() {
	buffer := make([]byte, readSize)
	for {
		n, from, err := c.Socket.ReadFrom(buffer)
		if err != nil {
			now := time.Now()
			c.down.add(&parcel{Passage: Passage{now, now}, err: err})
			return
		}
		send(c.down, &c.link.down, buffer[:n], from)
	}
}

// send puts a copy of a datagram into the link.
func send(q *queue, over *line, data []byte, address net.Addr) {
	now := time.Now()
	due := over.carry(now, now, len(data)+udpHeaders)
	q.add(&parcel{Passage: Passage{now, due}, data: append([]byte(nil), data...), address: address})
}

func (c *PacketConn) ReadFrom(p []byte) (int, net.Addr, error) {
	n, from, err := c.down.readFrom(p)
	c.answered()
	return n, from, err
}

// WriteTo sends a datagram into the link; it never waits.
func (c *PacketConn) WriteTo(p []byte, address net.Addr) (int, error) {
	if err := writable(c.down, &c.limit); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	send(c.up, &c.link.up, p, address)
	c.asked()
	return len(p), nil
}

// Close ends the connection at once for its user, and closes the real socket once all written datagrams have come out.
func (c *PacketConn) Close() error {
	c.once.Do(func() {
		c.down.close()
		now := time.Now()
		c.mu.Lock()
		defer c.mu.Unlock()
		due := now
		if last := c.up.last().Passage().Out; last.After(due) {
			due = last
		}
		c.up.add(&parcel{Passage: Passage{now, due}, err: io.EOF})
	})
	return nil
}

func (c *PacketConn) SetDeadline(t time.Time) error {
	c.down.deadline.set(t)
	c.limit.set(t)
	return nil
}

func (c *PacketConn) SetReadDeadline(t time.Time) error {
	c.down.deadline.set(t)
	return nil
}

func (c *PacketConn) SetWriteDeadline(t time.Time) error {
	c.limit.set(t)
	return nil
}
