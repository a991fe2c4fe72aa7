package link

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// exhausted is a listener that finds no free file descriptor at first.
type exhausted struct {
	net.Listener
	tried bool
}

func (e *exhausted) Accept() (net.Conn, error) {
	if !e.tried {
		e.tried = true
		return nil, &net.OpError{Op: "accept", Net: "unix", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return e.Listener.Accept()
}

// A relay carries bytes both ways between any two kinds of address, opens connections a round trip late, waits for free
// file descriptors, and ends.
func TestRelayCarriesConnectionsThroughTheLink(t *testing.T) {
	server, path := startEcho(t), filepath.Join(t.TempDir(), "near")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- newClock(t).Relay(ctx, &exhausted{Listener: listener}, slow, "tcp", server.address) }()
	began := time.Now()
	near, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	_ = near.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(near, "hello"); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, len("hello"))
	if _, err := io.ReadFull(near, answer); err != nil || string(answer) != "hello" {
		t.Fatalf("%q: %v", answer, err)
	}
	if took := time.Since(began); took < 2*slow.RTT {
		t.Errorf("connection and answer took %v, less than two round trips of %v", took, slow.RTT)
	}
	stop()
	if _, err := near.Read(answer); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection outlives the relay: %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestRelayClosesConnectionsWithoutATarget(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	clock := newClock(t)
	go func() { _ = clock.Relay(ctx, listener, slow, "unix", filepath.Join(t.TempDir(), "nobody")) }()
	near, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	_ = near.SetDeadline(time.Now().Add(patience))
	if n, err := near.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("read %d bytes: %v", n, err)
	}
}
