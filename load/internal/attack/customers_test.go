package attack

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"hopwise/load/internal/exchange"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/link"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/record"
	"hopwise/load/internal/target"
	"hopwise/load/internal/telemetry"
	"hopwise/load/tests/shoptest"
)

const distance = 20 * time.Millisecond

// distant returns a runner whose customers each have a separate link; ready is the number of prepared customers.
func distant(t testing.TB, at target.Target, entries []journey.Entry, visit link.Visit, ready int) *Runner {
	t.Helper()
	n := target.Network{RTTMs: distance.Seconds() * 1e3, Down: 100_000_000, Up: 100_000_000}
	at.Networks, at.Visit = map[target.Channel]target.Network{target.Web: n, target.Mobile: n, target.Partner: n}, visit
	runner := newRunner(t, at, entries)
	var err error
	if runner.Customers, err = exchange.NewCustomers(at, func([]target.Channel) int { return ready }, runner.Client.Meter()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runner.Customers.Close)
	if err := runner.Prepare(context.Background(), entries); err != nil {
		t.Fatal(err)
	}
	return runner
}

// Over a network, every journey has the same answer in every protocol, and each wave of requests takes a round trip. On
// a first visit, opening connections takes more: QUIC opens TLS at once, and gRPC also waits for the server's settings.
func TestJourneysOverANetwork(t *testing.T) {
	for _, w := range ways {
		for version, opening := range map[int]int64{1: 1, 2: 1, 3: 1} {
			if w.protocol == target.GRPC {
				if opening = 2; version != 2 {
					continue
				}
			}
			if w.protocol == target.GRPCConnectClient && version != 2 {
				continue // such a target is refused
			}
			if w.plan == target.Naive {
				continue // its requests cross the network as the best plan's do, but more of them, for seconds
			}
			t.Run(fmt.Sprint(w, version), func(t *testing.T) {
				t.Parallel()
				shop, certificate := spoken(t, version)
				at := w.at(t, shop, version)
				at.CACertificate = certificate
				entries := w.entries(one(t))
				near := prepare(t, at, entries)
				for _, visit := range link.Visits() {
					far := distant(t, at, entries, visit, 1)
					for _, e := range entries {
						want, _ := near.Run(context.Background(), e, time.Now(), false)
						row, _ := far.Run(context.Background(), e, time.Now(), false)
						// Without distance, parallel requests may still follow each other: the first has its answer
						// before the second is sent. A connection of HTTP/1.1 carries one request at a time, so a later
						// request may open another connection, or wait for the first.
						alone := visit == link.First && version == 1
						if row.Outcome != outcome.OK || row.AnswerSHA256 != want.AnswerSHA256 || row.Waves > want.Waves && !alone {
							t.Errorf("%s: %s %q, %d waves, more than near: %d", e.Journey, row.Outcome, row.Error, row.Waves, want.Waves)
						}
						least := time.Duration(row.Waves) * distance
						if took := time.Duration(row.NetworkNs); took < least {
							t.Errorf("%s, %s: the link took %v; %d round trips take %v", e.Journey, visit, took, row.Waves, least)
						}
						// A large answer waits for the window of a new connection.
						more := alone || visit == link.First && e.Journey == journey.BulkLines
						// On a busy machine, the last of parallel requests may be sent more than a round trip after the
						// others, when the connection is already open.
						fewer := row.Parallel > 1
						if n := row.OpeningRoundTrips; visit == link.Warm && n != 0 || visit == link.First && n < opening && !fewer || n > opening && !more {
							t.Errorf("%s, %s: %d round trips to open connections", e.Journey, visit, n)
						}
						opened := time.Duration(min(row.OpeningRoundTrips, opening)) * distance
						if took := time.Duration(row.LatencyNs); took < opened+time.Duration(row.NetworkNs) {
							t.Errorf("%s, %s: took %v; the link took %v after %v", e.Journey, visit, took, time.Duration(row.NetworkNs), opened)
						}
						if want.NetworkNs != 0 || want.OpeningRoundTrips != 0 {
							t.Errorf("%s: %d ns and %d round trips without a network", e.Journey, want.NetworkNs, want.OpeningRoundTrips)
						}
					}
					if all, late := far.Customers.Opened(); visit == link.Warm && (all != 1 || late != 0) || visit == link.First && all != len(entries) {
						t.Errorf("%s: %d customers, %d of them late, for %d journeys", visit, all, late, len(entries))
					}
				}
			})
		}
	}
}

// spoken returns a shop that speaks a version of HTTP, and its root certificate; empty without TLS.
func spoken(t *testing.T, version int) (*shoptest.Shop, string) {
	t.Helper()
	if version != 3 {
		return shoptest.Start(t), ""
	}
	authority := shoptest.NewAuthority(t)
	return shoptest.StartQUIC(t, authority.Issue(t, "127.0.0.1", time.Now().Add(time.Hour))), authority.Write(t)
}

// Each journey under way has an exclusive customer. Missing ones are opened and counted; closing leaves no connections.
func TestCustomersAreExclusive(t *testing.T) {
	shop := shoptest.Start(t)
	entries := slices.DeleteFunc(one(t), func(e journey.Entry) bool { return e.Journey != journey.Product })[:1]
	before := runtime.NumGoroutine()
	runner := distant(t, shop.Target(t, target.REST, 2), entries, link.Warm, 2)
	rows := make([]record.Row, 3)
	var journeys sync.WaitGroup
	for i := range rows {
		journeys.Go(func() { rows[i], _ = runner.Run(context.Background(), entries[0], time.Now(), false) })
	}
	journeys.Wait()
	for _, row := range rows {
		if row.Outcome != outcome.OK {
			t.Errorf("%s: %s", row.Outcome, row.Error)
		}
	}
	if all, late := runner.Customers.Opened(); all != 3 || late != 1 {
		t.Errorf("%d customers, %d of them late", all, late)
	}
	runner.Customers.Close()
	runner.Client.Close()
	shop.CloseConnections()
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// A journey that must open its customer's connections has one more span in its trace than the journey after it.
func TestTraceOfALateCustomer(t *testing.T) {
	shop := shoptest.Start(t)
	entries := slices.DeleteFunc(one(t), func(e journey.Entry) bool { return e.Journey != journey.Product })[:1]
	runner := distant(t, shop.Target(t, target.REST, 2), entries, link.Warm, 0)
	spans := func() int64 {
		// There is no receiver, but the spans are counted.
		tracing, err := telemetry.Open(context.Background(), target.Target{OTLP: "127.0.0.1:1"})
		if err != nil {
			t.Fatal(err)
		}
		runner.Tracing = tracing
		if row, _ := runner.Run(context.Background(), entries[0], time.Now(), true); row.Outcome != outcome.OK {
			t.Fatalf("%s: %s", row.Outcome, row.Error)
		}
		over, cancel := context.WithCancel(context.Background())
		cancel()
		_ = tracing.Close(over)
		return tracing.Dropped()
	}
	if late, next := spans(), spans(); late != next+1 {
		t.Errorf("%d spans of a journey that opens connections, %d of the next", late, next)
	}
}
