package exchange

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hopwise/load/internal/link"
	"hopwise/load/internal/target"
	"hopwise/load/internal/telemetry"
	"hopwise/load/internal/wire"
	"hopwise/load/tests/shoptest"
	"hopwise/proto/stubs/productv1"
)

// distant returns a customer of a shop over TLS, behind a network.
func distant(t *testing.T, protocol target.Protocol, version int, n target.Network, visit link.Visit) (*shoptest.Shop, *Client) {
	t.Helper()
	shop, at := secure(t, protocol, version)
	at.Visit = visit
	at.Networks = map[target.Channel]target.Network{target.Web: n, target.Mobile: n, target.Partner: n}
	customers, err := NewCustomers(at, func([]target.Channel) int { return 1 }, &wire.Meter{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(customers.Close)
	if err := customers.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	client, _, err := customers.Borrow(t.Context(), target.Web)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return shop, client
}

// check checks that the stretches of a request follow each other, and take at least the network's time.
func (c crossed) check(t *testing.T, rtt time.Duration) {
	t.Helper()
	moment := c.whole.from
	for _, part := range []stretch{c.handshake, c.waiting, c.up, c.down, {from: c.whole.to}} {
		if part.from.IsZero() {
			continue
		}
		if part.from.Before(moment) {
			t.Errorf("%+v begins before %v", part, moment)
		}
		moment = part.to
	}
	if c.up.length() < rtt/2 || c.down.length() < rtt/2 || c.handshake.length() < time.Duration(c.trips)*rtt {
		t.Errorf("up %v, down %v, %v for %d round trips: less than at %v", c.up.length(), c.down.length(), c.handshake.length(), c.trips, rtt)
	}
	if c.network() != c.up.length()+c.down.length() {
		t.Errorf("%v is not %v and %v", c.network(), c.up.length(), c.down.length())
	}
}

// On a first visit, the first request waits a round trip each for TCP and TLS, or one for QUIC; gRPC also for settings.
func TestRequestsOverANetwork(t *testing.T) {
	opening := map[string]int{"HTTP/1.1": 2, "HTTP/2": 2, "HTTP/3": 1, "gRPC": 3}
	const rtt, requests = 20 * time.Millisecond, 3
	for name, c := range connected {
		for _, visit := range link.Visits() {
			t.Run(fmt.Sprint(name, " ", visit), func(t *testing.T) {
				t.Parallel()
				shop, client := distant(t, c.protocol, c.http, target.Network{RTTMs: rtt.Seconds() * 1e3, Down: 10_000_000, Up: 10_000_000}, visit)
				x := Untraced(client.At(shop.URL))
				for i := range requests {
					if err := ask(t.Context(), x, c.protocol); err != nil {
						t.Fatal(err)
					}
					if i == 0 && c.protocol != target.GRPC {
						withBody(t, x)
					}
				}
				trips, network := 0, time.Duration(0)
				if visit == link.First {
					trips = opening[name]
				}
				for i, request := range x.crossed {
					request.check(t, rtt)
					network += request.network()
					if waited := !request.handshake.from.IsZero(); waited != (trips > 0 && i == 0) {
						t.Errorf("request %d: waited for a connection: %v", i, waited)
					}
				}
				shape := x.Shape()
				if int64(len(x.crossed)) != shape.Requests || shape.OpeningRoundTrips != int64(trips) || shape.Network != network {
					t.Errorf("%+v instead of %d round trips and %v, %d requests", shape, trips, network, shape.Requests)
				}
			})
		}
	}
}

// The way up of each parallel request ends when that request has arrived completely. So it does not end before the
// request's bytes can be through the line, nor after the server has read the request.
func TestRequestsSideBySide(t *testing.T) {
	const rtt, kbit, padding = 20 * time.Millisecond, 200, 100
	for _, name := range []string{"HTTP/1.1", "HTTP/2", "gRPC"} {
		c := connected[name]
		for _, visit := range link.Visits() {
			t.Run(fmt.Sprint(name, " ", visit), func(t *testing.T) {
				t.Parallel()
				shop, client := distant(t, c.protocol, c.http, target.Network{RTTMs: rtt.Seconds() * 1e3, Down: 10_000_000, Up: int64(kbit) * 1000}, visit)
				var mu sync.Mutex
				read := map[int]time.Time{} // by the size of the query or the message
				shop.Fault = func(w http.ResponseWriter, r shoptest.Seen) bool {
					mu.Lock()
					defer mu.Unlock()
					read[len(r.Query)+len(r.Body)] = time.Now()
					return false
				}
				var exchanges [4]*Exchange
				var sizes [len(exchanges)]int
				var requests sync.WaitGroup
				for i := range exchanges {
					exchanges[i] = Untraced(client.At(shop.URL))
					requests.Go(func() {
						sizes[i] = send(t, exchanges[i], c.protocol, (i+1)*padding)
					})
				}
				requests.Wait()
				for i, x := range exchanges {
					request := x.crossed[0]
					request.check(t, rtt)
					serialised := time.Duration(sizes[i]) * 8 * time.Millisecond / kbit / 2 // headers are compressed
					if request.up.length() < rtt/2+serialised {
						t.Errorf("%d bytes crossed in %v", sizes[i], request.up.length())
					}
					if at := read[sizes[i]]; at.IsZero() || request.up.to.After(at) {
						t.Errorf("%d bytes came at %v, and the server had read them at %v", sizes[i], request.up.to, at)
					}
				}
			})
		}
	}
}

// Over HTTP/1.1, requests beyond a browser's connections wait for the answers of earlier requests. This adds a round
// trip to the journey but no handshake, even if all connections were opened meanwhile.
func TestRequestsWaitForOthers(t *testing.T) {
	const rtt, beyond = 20 * time.Millisecond, 2
	for _, visit := range link.Visits() {
		t.Run(string(visit), func(t *testing.T) {
			t.Parallel()
			shop, client := distant(t, target.REST, 1, target.Network{RTTMs: rtt.Seconds() * 1e3}, visit)
			x := Untraced(client.At(shop.URL))
			shop.Fault = func(http.ResponseWriter, shoptest.Seen) bool {
				for x.Shape().Requests < browserConnections+beyond {
					time.Sleep(time.Millisecond)
				}
				time.Sleep(5 * rtt) // until the last requests wait for a connection too, even on a busy machine
				return false
			}
			sideBySide(t, x, browserConnections+beyond)
			holders, waiters := map[*crossing]bool{}, 0
			for _, request := range x.crossed {
				request.check(t, rtt)
				holders[request.way] = request.behind == nil
			}
			for _, request := range x.crossed {
				if request.behind == nil {
					continue
				}
				waiters++
				if !holders[request.behind] || request.trips != 0 || request.waiting.length() < rtt/4 {
					t.Errorf("waited for %v behind one that waited or none, and %d round trips", request.waiting.length(), request.trips)
				}
			}
			trips := int64(0)
			if visit == link.First {
				trips = 2
			}
			waves := time.Duration(1) // on a busy machine, one of the first requests may read its answer after all others
			if last := slices.MaxFunc(x.crossed, func(a, b crossed) int { return a.whole.to.Compare(b.whole.to) }); last.behind != nil {
				waves = 2
			}
			shape := x.Shape()
			if waiters != beyond || shape.Waves != int64(waves) || shape.OpeningRoundTrips != trips || shape.Network < waves*rtt {
				t.Errorf("%d waited; %d waves expected; %+v", waiters, waves, shape)
			}
		})
	}
}

// On a first visit, a request that opens a connection takes another connection if that one is free earlier. The new
// connection then stays idle, and the next request that takes the new connection does not wait.
func TestFreeConnectionIsTakenBeforeANewOne(t *testing.T) {
	t.Parallel()
	const rtt = 40 * time.Millisecond
	shop, client := distant(t, target.REST, 1, target.Network{RTTMs: rtt.Seconds() * 1e3}, link.First)
	x := Untraced(client.At(shop.URL))
	sideBySide(t, x, 1)
	sideBySide(t, x, 2)
	time.Sleep(rtt) // for the opening of the connection
	sideBySide(t, x, 2)
	var waited []string
	for _, request := range x.crossed {
		request.check(t, rtt)
		for _, part := range request.parts() {
			if part.name == telemetry.Handshake || part.name == telemetry.Waiting {
				waited = append(waited, part.name)
			}
		}
	}
	shape := x.Shape()
	if !slices.Equal(waited, []string{telemetry.Handshake, telemetry.Waiting}) || shape.Waves != 4 || shape.OpeningRoundTrips != 2 {
		t.Errorf("waited for %v; %+v", waited, shape)
	}
}

// On a new connection the first large answer takes further round trips, one for each doubling of the window. Later
// answers do not, nor do answers on a connection from an earlier visit.
func TestLargeAnswersOnANewConnection(t *testing.T) {
	const rtt, size = 20 * time.Millisecond, 60_000 // more than the first two windows, 14,600 and 29,200 bytes
	for visit, want := range map[link.Visit][]int{link.First: {2 + 2, 0}, link.Warm: {0, 0}} {
		t.Run(string(visit), func(t *testing.T) {
			t.Parallel()
			shop, client := distant(t, target.REST, 2, target.Network{RTTMs: rtt.Seconds() * 1e3}, visit)
			shop.Fault = func(w http.ResponseWriter, _ shoptest.Seen) bool {
				_, _ = w.Write(make([]byte, size))
				return true
			}
			x := Untraced(client.At(shop.URL))
			for i := range want {
				sideBySide(t, x, 1)
				if trips := x.crossed[i].trips; trips != want[i] {
					t.Errorf("answer %d took %d round trips more, expected %d", i, trips, want[i])
				}
			}
		})
	}
}

func sideBySide(t *testing.T, x *Exchange, count int) {
	t.Helper()
	var requests sync.WaitGroup
	for range count {
		requests.Go(func() {
			if err := ask(t.Context(), x, target.REST); err != nil {
				t.Error(err)
			}
		})
	}
	requests.Wait()
}

const messageHead = 5

// send sends a request with a query or a message of about padding bytes, and returns its exact size.
func send(t *testing.T, x *Exchange, p target.Protocol, padding int) int {
	if p == target.GRPC {
		_, err := productv1.NewProductServiceClient(x.Channel("")).BatchGetProducts(
			t.Context(), &productv1.BatchGetProductsRequest{Ids: slices.Repeat([]int64{1}, padding)})
		if err != nil {
			t.Error(err)
		}
		return int(x.Sizes().Out) + messageHead
	}
	query := url.Values{"padding": {strings.Repeat("x", padding)}}
	if _, err := x.Do(t.Context(), Request{Method: http.MethodGet, Route: "/v1/products/{id}", Path: "/v1/products/1", Query: query}); err != nil {
		t.Error(err)
	}
	return len(query.Encode())
}

func withBody(t *testing.T, x *Exchange) {
	body := []byte(`{"padding":"` + strings.Repeat(" ", 2000) + `"}`)
	if _, err := x.Do(t.Context(), Request{Method: http.MethodPost, Route: "/v1/orders", Path: "/v1/orders", Body: body}); err != nil {
		t.Error(err)
	}
}

// A journey waited for requests that ended before the next one began; of parallel ones, for the last to end.
func TestCritical(t *testing.T) {
	at := func(from, to int) crossed {
		instant := func(ms int) time.Time { return time.Unix(0, int64(ms)*int64(time.Millisecond)) }
		return crossed{whole: stretch{instant(from), instant(to)}, down: stretch{instant(from), instant(to)}}
	}
	first, short, long, last := at(0, 10), at(11, 20), at(11, 30), at(30, 35)
	x := &Exchange{crossed: []crossed{short, first, last, long}}
	if took := x.Shape().Network; took != 34*time.Millisecond {
		t.Errorf("%v of %v", took, critical(x.crossed))
	}
}

// If a request waited for another's connection, the journey waited for that other request, regardless of its start.
func TestCriticalBehindAnother(t *testing.T) {
	at := func(from, to int, behind *crossing) crossed {
		instant := func(ms int) time.Time { return time.Unix(0, int64(ms)*int64(time.Millisecond)) }
		return crossed{whole: stretch{instant(from), instant(to)}, way: &crossing{}, behind: behind}
	}
	before, holder := at(0, 10, nil), at(10, 20, nil)
	short, waiter := at(11, 19, nil), at(12, 30, holder.way)
	path := critical([]crossed{holder, waiter, short, before})
	if len(path) != 3 || path[0].way != waiter.way || path[1].way != holder.way || path[2].way != before.way {
		t.Errorf("%+v", path)
	}
}

// A link without delay leaves no span, which would otherwise show as a nanosecond.
func TestZeroDurationsLeaveNoSpan(t *testing.T) {
	sent := time.Now()
	c := crossed{up: stretch{sent, sent}, down: stretch{sent, sent.Add(5)}}
	parts := c.parts()
	if len(parts) != 1 || parts[0].name != telemetry.LinkDown || parts[0].length() != c.network() {
		t.Errorf("%+v has the parts %+v", c, parts)
	}
}
