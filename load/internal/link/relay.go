package link

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

// dialTimeout is how long the far end may take to accept a connection, without the link's own round trip.
const dialTimeout = 2 * time.Second

// acceptPause is the pause after an attempt to accept a connection without a free file descriptor.
const acceptPause = 10 * time.Millisecond

// Relay forwards a listener's connections until the context ends, each through a separate link, as on a warm visit.
// Without a free file descriptor, new connections wait in the listener's queue.
func (c *Clock) Relay(ctx context.Context, from net.Listener, n Network, network, address string) error {
	context.AfterFunc(ctx, func() { _ = from.Close() })
	for {
		near, err := from.Accept()
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			time.Sleep(acceptPause)
			continue
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		go c.carry(ctx, near, n, network, address)
	}
}

func (c *Clock) carry(ctx context.Context, near net.Conn, n Network, network, address string) {
	far, err := New(c, n, Warm).Dial(ctx, &net.Dialer{Timeout: dialTimeout}, network, address)
	if err != nil {
		_ = near.Close()
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = near.Close() })
	defer stop()
	go func() {
		_, _ = io.Copy(far, near)
		_ = far.Close()
	}()
	// Data received before the far end closed still reaches the near end.
	_, _ = io.Copy(near, far)
	_ = near.Close()
	_ = far.Close()
}
