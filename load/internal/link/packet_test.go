package link

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// Datagrams stay whole and in order in both directions, are counted with their headers, and take the round-trip time.
func TestPackets(t *testing.T) {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		buffer := make([]byte, 2000)
		for {
			n, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = server.WriteTo(buffer[:n], from)
		}
	}()
	far, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := New(newClock(t), Network{RTT: 40 * ms, Down: 8_000_000, Up: 8_000_000}, First)
	c := l.Packets(far.(*net.UDPConn))
	began := time.Now()
	const count, size = 30, 100
	for i := range count {
		datagram := make([]byte, size+i)
		datagram[0] = byte(i)
		if n, err := c.WriteTo(datagram, server.LocalAddr()); n != len(datagram) || err != nil {
			t.Fatal(n, err)
		}
		clear(datagram)
	}
	buffer := make([]byte, 2000)
	for i := range count {
		if n, from, err := c.ReadFrom(buffer); n != size+i || buffer[0] != byte(i) || from.String() != server.LocalAddr().String() || err != nil {
			t.Errorf("datagram %d: %d bytes of %v: %v", i, n, from, err)
		}
	}
	if took := time.Since(began); took < 40*ms || took > patience {
		t.Errorf("took %v", took)
	}
	want := int64(count*(size+udpHeaders) + count*(count-1)/2)
	if carried := l.Carried(); carried.Up != want || carried.Down != want {
		t.Errorf("carried %+v, expected %d each way", carried, want)
	}
	if down := c.Received(); down.Out.Sub(down.In) < 20*ms || down.In.Before(c.Sent().Passage().Out) {
		t.Errorf("%+v after %+v", down, c.Sent().Passage())
	}
	_ = c.SetReadDeadline(time.Now().Add(ms))
	if _, _, err := c.ReadFrom(buffer); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := c.ReadFrom(buffer); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
	if _, err := c.WriteTo(buffer, server.LocalAddr()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
}
