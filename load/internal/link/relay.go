package link

import (
	"context"
	"io"
	"net"
	"time"
)

// dialTimeout is how long the far end may take to accept a connection, without the link's own round trip.
const dialTimeout = 2 * time.Second

// Relay forwards a listener's connections until the context ends, each through a separate link, as on a warm visit.
func (c *Clock) Relay(ctx context.Context, from net.Listener, n Network, network, address string) error {
	context.AfterFunc(ctx, func() { _ = from.Close() })
	for {
		near, err := from.Accept()
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
