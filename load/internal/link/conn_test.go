package link

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

const patience = 20 * time.Second

var slow = Network{RTT: 40 * ms, Down: 8_000_000, Up: 4_000_000}

type echo struct {
	address string
	mu      sync.Mutex
	got     bytes.Buffer
}

func (e *echo) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.got.Write(p)
}

func (e *echo) received() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.got.String()
}

func startEcho(t *testing.T) *echo {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	e := &echo{address: listener.Addr().String()}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, io.TeeReader(c, e))
			}()
		}
	}()
	return e
}

func newClock(t *testing.T) *Clock {
	t.Helper()
	clock, err := NewClock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(clock.Close)
	return clock
}

func dial(t *testing.T, l *Link, address string) *Conn {
	t.Helper()
	c, err := l.Dial(context.Background(), &net.Dialer{}, "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Everything comes back complete and in order, for any sizes of writes, on both kinds of visit.
func TestOrder(t *testing.T) {
	for _, visit := range Visits() {
		for _, network := range []Network{{RTT: 5 * ms}, {Down: 80_000_000, Up: 80_000_000}, {RTT: 5 * ms, Down: 80_000_000, Up: 80_000_000}} {
			t.Run(string(visit), func(t *testing.T) {
				t.Parallel()
				c := dial(t, New(newClock(t), network, visit), startEcho(t).address)
				random := rand.New(rand.NewPCG(1, 2))
				sent := make([]byte, 300_000)
				for i := range sent {
					sent[i] = byte(random.Uint32())
				}
				go func() {
					for rest := sent; len(rest) > 0; {
						n := min(1+random.IntN(20_000), len(rest))
						part := bytes.Clone(rest[:n])
						_, _ = c.Write(part)
						clear(part) // a writer may reuse its memory
						rest = rest[n:]
					}
				}()
				got := make([]byte, len(sent))
				if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, sent) {
					t.Errorf("not what was sent: %v", err)
				}
			})
		}
	}
}

// The accounting is exact: the link counts the sent data and its headers, and nothing comes out before its time.
func TestAccount(t *testing.T) {
	l := New(newClock(t), slow, Warm)
	c := dial(t, l, startEcho(t).address)
	const size = 10*segment + 100
	began := time.Now()
	if _, err := c.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	up := c.Sent().Passage()
	if _, err := io.ReadFull(c, make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	ended := time.Now()
	carried := l.Carried()
	if want := int64(size + 11*tcpHeaders); carried.Up != want || carried.Down < want {
		t.Errorf("carried %+v, at least %d were", carried, want)
	}
	serialised := time.Duration((size + 11*tcpHeaders) * 8 * int(time.Second) / int(slow.Up))
	if took := up.Out.Sub(up.In); took < slow.RTT/2+serialised-time.Microsecond || up.In.Before(began) {
		t.Errorf("up took %v, expected at least %v", took, slow.RTT/2+serialised)
	}
	down := c.Received()
	if took := down.Out.Sub(down.In); took < slow.RTT/2 || down.In.Before(up.Out) || down.Out.After(ended) {
		t.Errorf("down took %v, %v after up, until %v before the end", took, down.In.Sub(up.Out), ended.Sub(down.Out))
	}
	if took := c.Sent().Passage().Out.Sub(up.In); took > 2*slow.RTT+serialised {
		t.Errorf("up took %v", took)
	}
}

func TestRoundTrip(t *testing.T) {
	network := Network{RTT: 60 * ms}
	began := time.Now()
	c := dial(t, New(newClock(t), network, Warm), startEcho(t).address)
	opened := time.Now()
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	for what, took := range map[string]time.Duration{"opening": opened.Sub(began), "a round trip": time.Since(opened)} {
		if took < network.RTT || took > 2*network.RTT {
			t.Errorf("%s took %v", what, took)
		}
	}
}

// A customer's connections share one link; another customer's link is not affected.
func TestLinksAreApart(t *testing.T) {
	clock, server := newClock(t), startEcho(t)
	busy, other := New(clock, slow, Warm), New(clock, slow, Warm)
	first, second, apart := dial(t, busy, server.address), dial(t, busy, server.address), dial(t, other, server.address)
	if _, err := first.Write(make([]byte, 500_000)); err != nil { // takes a second
		t.Fatal(err)
	}
	for _, c := range []*Conn{second, apart} {
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if wait := second.Sent().Passage().Out.Sub(second.Sent().Passage().In); wait < time.Second {
		t.Errorf("the same customer's next byte comes out after %v", wait)
	}
	if wait := apart.Sent().Passage().Out.Sub(apart.Sent().Passage().In); wait > slow.RTT {
		t.Errorf("another customer's byte comes out after %v", wait)
	}
}

// Close ends reading at once, delivers written data, and leaves no goroutine.
func TestClose(t *testing.T) {
	clock, server := newClock(t), startEcho(t)
	before := runtime.NumGoroutine()
	c := dial(t, New(clock, slow, Warm), server.address)
	failed := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		failed <- err
	}()
	text := strings.Repeat("farewell ", 1000)
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Read: %v", err)
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Write: %v", err)
	}
	for end := time.Now().Add(patience); server.received() != text || runtime.NumGoroutine() > before; time.Sleep(ms) {
		if time.Now().After(end) {
			t.Fatalf("%d of %d bytes arrived, %d goroutines of %d", len(server.received()), len(text), runtime.NumGoroutine(), before)
		}
	}
}

// A far end that does not read, or has gone, does not keep a closed connection open.
func TestFarEnd(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	clock := newClock(t)
	before := runtime.NumGoroutine()
	deaf := dial(t, New(clock, Network{RTT: ms}, Warm), listener.Addr().String())
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	if _, err := deaf.Write(make([]byte, 32<<20)); err != nil {
		t.Fatal(err)
	}
	gone := dial(t, New(clock, Network{RTT: ms}, Warm), listener.Addr().String())
	if second, err := listener.Accept(); err != nil || second.Close() != nil {
		t.Fatal(err)
	}
	if _, err := gone.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("Read: %v", err)
	}
	_, _ = gone.Write([]byte("x"))
	for end := time.Now().Add(patience); err == nil; time.Sleep(ms) {
		if _, err = gone.Write([]byte("x")); time.Now().After(end) {
			t.Fatal("writing to nobody never fails")
		}
	}
	_, _ = deaf.Close(), gone.Close()
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(ms) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// Deadlines end a waiting Read, with or without data on its way, and can be reset.
func TestDeadlines(t *testing.T) {
	c := dial(t, New(newClock(t), Network{RTT: 400 * ms}, Warm), startEcho(t).address)
	for range 2 { // in the second round, the echo is on its way
		if err := c.SetReadDeadline(time.Now().Add(20 * ms)); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d, %v", n, err)
		}
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.SetDeadline(time.Now().Add(-ms)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Write: %v", err)
	}
	if err := c.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 2)); err != nil {
		t.Error(err)
	}
	go func() { _ = c.SetReadDeadline(time.Now()) }()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// A dial fails if nothing listens, or if it is cancelled before the connection is open.
func TestDialFails(t *testing.T) {
	l := New(newClock(t), Network{RTT: 200 * ms}, Warm)
	if _, err := l.Dial(context.Background(), &net.Dialer{}, "tcp", "127.0.0.1:1"); err == nil {
		t.Error("connected to nobody")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*ms)
	defer cancel()
	if _, err := l.Dial(ctx, &net.Dialer{}, "tcp", startEcho(t).address); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}
