package wire

import (
	"context"
	"io"
	"net"
	"testing"
	"time"
)

// Every byte is counted, in both directions and over all connections; the count settles once the connections are idle.
func TestMeterAgreesWithTheOtherSide(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	got := make(chan int64, 2)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				request := make([]byte, 5)
				n, _ := io.ReadFull(c, request)
				_, _ = c.Write([]byte("an answer"))
				time.Sleep(20 * time.Millisecond)
				_, _ = c.Write([]byte(", and more"))
				got <- int64(n)
			}()
		}
	}()
	var m Meter
	var sent int64
	for range 2 {
		c, err := m.Dial(context.Background(), &net.Dialer{}, "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, c) }()
		sent += <-got
	}
	count := m.Settle(200*time.Millisecond, 10*time.Second)
	if want := (Count{In: 2 * int64(len("an answer, and more")), Out: sent}); count != want || m.Dialed() != 2 {
		t.Errorf("counted %+v on %d connections, expected %+v on 2", count, m.Dialed(), want)
	}
	if _, err := m.Dial(context.Background(), &net.Dialer{}, "tcp", "127.0.0.1:1"); err == nil || m.Dialed() != 2 {
		t.Errorf("a connection that was refused counts: %v, %d", err, m.Dialed())
	}
}

// cut is a connection that does not send the last byte, and notes what was counted before.
type cut struct {
	net.Conn
	meter  Meter
	before Count
}

func (c *cut) DialContext(context.Context, string, string) (net.Conn, error) { return c, nil }

func (c *cut) Write(p []byte) (int, error) {
	c.before = c.meter.Count()
	return len(p) - 1, io.ErrShortWrite
}

// Bytes count before they are sent, so that they count before their answer; bytes that are not sent do not count.
func TestBytesCountBeforeTheirAnswer(t *testing.T) {
	var c cut
	connection, err := c.meter.Dial(t.Context(), &c, "tcp", "")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = connection.Write([]byte("hello"))
	if after := c.meter.Count(); c.before.Out != 5 || after.Out != 4 {
		t.Errorf("counted %d bytes before, and %d after", c.before.Out, after.Out)
	}
}

// Packets are counted in both directions, without their headers.
func TestMeterCountsPackets(t *testing.T) {
	var sockets [2]*net.UDPConn
	for i := range sockets {
		socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
		sockets[i] = socket
	}
	var m Meter
	counted, other := m.Packets(sockets[0]), sockets[1]
	into := make([]byte, 100)
	if _, err := counted.WriteTo([]byte("hello"), other.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	if n, _, err := other.ReadFrom(into); err != nil || n != 5 {
		t.Fatal(n, err)
	}
	if _, err := other.WriteTo([]byte("an answer"), counted.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	if n, _, err := counted.ReadFrom(into); err != nil || n != 9 {
		t.Fatal(n, err)
	}
	if count := m.Count(); count != (Count{In: 9, Out: 5}) || m.Dialed() != 1 {
		t.Errorf("counted %+v on %d connections", count, m.Dialed())
	}
}

// Settle waits only until its limit if the traffic never stops.
func TestSettleIsLimited(t *testing.T) {
	var m Meter
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				m.in.Add(1)
				time.Sleep(time.Millisecond)
			}
		}
	}()
	began := time.Now()
	m.Settle(5*time.Second, 50*time.Millisecond)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
}
