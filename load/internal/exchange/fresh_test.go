package exchange

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"hopwise/load/internal/link"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/target"
	"hopwise/load/internal/telemetry"
	"hopwise/load/internal/wire"
	"hopwise/load/tests/shoptest"
)

// A request that has a connection of its own waits for its TLS first, which is its handshake; the connection is closed after it. That is so
// also where it crosses a network, on a first visit.
func TestAConnectionForEachRequest(t *testing.T) {
	authority := shoptest.NewAuthority(t)
	for name, c := range connected {
		for _, rtt := range []time.Duration{0, 20 * time.Millisecond} {
			t.Run(fmt.Sprint(name, " at ", rtt), func(t *testing.T) {
				t.Parallel()
				shop := start(t, c.http, authority.Issue(t, host, time.Now().Add(time.Hour)))
				at := shop.Target(t, c.protocol, c.http)
				at.CACertificate, at.Fresh = authority.Write(t), true
				client, err := NewClient(at, 4)
				if err != nil {
					t.Fatal(err)
				}
				if err := client.Connect(t.Context()); err != nil {
					t.Fatal(err)
				}
				if rtt > 0 {
					at.Visit, at.Networks = link.First, map[target.Channel]target.Network{target.Web: {RTTMs: rtt.Seconds() * 1e3}}
					customers, err := NewCustomers(at, func([]target.Channel) int { return 1 }, client.Meter())
					if err != nil {
						t.Fatal(err)
					}
					defer customers.Close()
					if client, _, err = customers.Borrow(t.Context(), target.Web); err != nil {
						t.Fatal(err)
					}
				}
				x := Untraced(client.At(shop.URL))
				const requests = 3
				for range requests {
					if err := ask(t.Context(), x, c.protocol); err != nil {
						t.Fatal(err)
					}
				}
				for _, c := range x.crossed {
					parts := c.parts()
					if first := parts[0]; first.name != telemetry.Handshake || !first.from.Equal(c.whole.from) || first.length() <= rtt {
						t.Errorf("%+v in %+v", first, c.whole)
					}
					if far := len(parts) > 1; far != (rtt > 0) {
						t.Errorf("%+v at %v", parts, rtt)
					}
				}
				if dialed := client.Meter().Dialed(); dialed != 1+requests {
					t.Errorf("%d connections for %d requests and a greeting", dialed, requests)
				}
				for end := time.Now().Add(5 * time.Second); shop.Connections() > 0; time.Sleep(time.Millisecond) {
					if time.Now().After(end) {
						t.Fatalf("%d connections are still open", shop.Connections())
					}
				}
			})
		}
	}
}

// A machine that has no free port left can open no connection: the request is not sent, which is the client's failure.
func TestNoPortIsLeft(t *testing.T) {
	shop := shoptest.Start(t)
	for name, c := range connected {
		if c.http == 3 {
			continue // which needs a port of UDP, and TLS
		}
		at := shop.Target(t, c.protocol, c.http)
		at.Fresh = true
		client, err := newClient(at, counts{}, &wire.Meter{}, crowded{})
		if err != nil {
			t.Fatal(err)
		}
		if err := ask(t.Context(), Untraced(client.At(shop.URL)), c.protocol); outcome.Of(err) != outcome.Client || !strings.Contains(err.Error(), "cannot assign requested address") {
			t.Errorf("%s: %s: %v", name, outcome.Of(err), err)
		}
	}
}

type crowded struct{ direct }

func (crowded) DialContext(_ context.Context, network, _ string) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)}
}
