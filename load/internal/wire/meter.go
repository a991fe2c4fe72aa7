// Package wire counts the traffic of the client's connections: every byte that TCP or UDP carries, framing included.
package wire

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

// Meter counts the bytes of all connections dialled through it.
type Meter struct {
	in     atomic.Int64
	out    atomic.Int64
	dialed atomic.Int64
}

// Count is a meter's count so far, or between two readings.
type Count struct {
	In  int64 // bytes received
	Out int64 // bytes sent
}

func (c Count) Since(earlier Count) Count {
	return Count{In: c.In - earlier.In, Out: c.Out - earlier.Out}
}

type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

func (m *Meter) Dial(ctx context.Context, d Dialer, network, address string) (net.Conn, error) {
	connection, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	m.dialed.Add(1)
	return &counted{Conn: connection, meter: m}, nil
}

// Socket has only the basic methods of a UDP socket, and methods for the sizes of its buffers, so that each packet is a
// single read or write.
type Socket interface {
	net.PacketConn
	SetReadBuffer(bytes int) error
	SetWriteBuffer(bytes int) error
}

// Packets returns a socket whose packets' bytes are counted, for one connection.
func (m *Meter) Packets(socket *net.UDPConn) Socket {
	m.dialed.Add(1)
	return &countedPackets{Socket: socket, meter: m}
}

func (m *Meter) Count() Count  { return Count{In: m.in.Load(), Out: m.out.Load()} }
func (m *Meter) Dialed() int64 { return m.dialed.Load() }

const settleStep = 500 * time.Microsecond

// Settle waits until the connections have been idle for the quiet time, at most for the limit, and returns the count.
// Window updates, pings and their acknowledgements follow an answer within a round trip.
func (m *Meter) Settle(quiet, limit time.Duration) Count {
	last, changed := m.Count(), time.Now()
	for end := changed.Add(limit); time.Now().Before(end); {
		time.Sleep(settleStep)
		if now := m.Count(); now != last {
			last, changed = now, time.Now()
		} else if time.Since(changed) >= quiet {
			break
		}
	}
	return last
}

type counted struct {
	net.Conn
	meter *Meter
}

var _ net.Conn = (*counted)(nil)

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.meter.in.Add(int64(n))
	return n, err
}

// Write counts bytes before it sends them: their answer may come before Write returns.
func (c *counted) Write(p []byte) (int, error) {
	c.meter.out.Add(int64(len(p)))
	n, err := c.Conn.Write(p)
	c.meter.out.Add(int64(n - len(p)))
	return n, err
}

type countedPackets struct {
	Socket
	meter *Meter
}

var _ Socket = (*countedPackets)(nil)

func (c *countedPackets) ReadFrom(p []byte) (int, net.Addr, error) {
	n, from, err := c.Socket.ReadFrom(p)
	c.meter.in.Add(int64(n))
	return n, from, err
}

func (c *countedPackets) WriteTo(p []byte, to net.Addr) (int, error) {
	c.meter.out.Add(int64(len(p)))
	n, err := c.Socket.WriteTo(p, to)
	c.meter.out.Add(int64(n - len(p)))
	return n, err
}
