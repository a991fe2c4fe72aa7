package exchange

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"hopwise/load/internal/link"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/target"
	"hopwise/load/internal/telemetry"
	"hopwise/load/internal/wire"
	"hopwise/load/tests/shoptest"
	"hopwise/proto/stubs/productv1"
)

// A request on a new connection waits for the TLS handshake, and the connection is closed after the answer.
func TestAConnectionForEachRequest(t *testing.T) {
	for name, c := range connected {
		for _, rtt := range []time.Duration{0, 20 * time.Millisecond} {
			t.Run(fmt.Sprint(name, " at ", rtt), func(t *testing.T) {
				t.Parallel()
				shop, at := secure(t, c.protocol, c.http)
				at.Fresh = true
				client := dialled(t, at, 4)
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

// A connection is closed once its customer has left, even if it opens only then, or if its request was cancelled without
// a word from the server.
func TestConnectionsOfLateJourneysAreClosed(t *testing.T) {
	shop := shoptest.Start(t)
	shop.Fault = func(http.ResponseWriter, shoptest.Seen) bool { <-t.Context().Done(); return true }
	const rtt = 500 * time.Millisecond
	at := shop.Target(t, target.REST, 2)
	at.Visit, at.Networks = link.First, map[target.Channel]target.Network{target.Web: {RTTMs: rtt.Seconds() * 1e3}}
	for _, limit := range []time.Duration{rtt / 10, rtt + rtt/4} {
		customers, err := NewCustomers(at, func([]target.Channel) int { return 0 }, &wire.Meter{})
		if err != nil {
			t.Fatal(err)
		}
		defer customers.Close()
		client, _, err := customers.Borrow(t.Context(), target.Web)
		if err != nil {
			t.Fatal(err)
		}
		limited, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		if err := ask(limited, Untraced(client.At(shop.URL)), target.REST); outcome.Of(err) != outcome.Timeout {
			t.Fatal(err)
		}
		time.Sleep(rtt / 10) // until the stream is cancelled
		customers.Return(client, target.Web, false)
		for end := time.Now().Add(5 * time.Second); client.Meter().Dialed() == 0 || shop.Connections() > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d connections are still open after a time limit of %v", shop.Connections(), limit)
			}
		}
	}
}

// Idle customers take turns.
func TestCustomersTakeTurns(t *testing.T) {
	shop := shoptest.Start(t)
	at := shop.Target(t, target.REST, 2)
	at.Networks = map[target.Channel]target.Network{target.Web: {}}
	customers, err := NewCustomers(at, func([]target.Channel) int { return 2 }, &wire.Meter{})
	if err != nil {
		t.Fatal(err)
	}
	defer customers.Close()
	if err := customers.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	borrowed := map[*Client]bool{}
	for range 2 {
		client, _, err := customers.Borrow(t.Context(), target.Web)
		if err != nil {
			t.Fatal(err)
		}
		borrowed[client] = true
		customers.Return(client, target.Web, true)
	}
	if len(borrowed) != 2 {
		t.Error("the same customer came twice, and the other stayed idle")
	}
}

// A machine without a free port, or whose packets get no answer, cannot open a connection. The request is not sent,
// which is a failure of the client.
func TestNoConnectionCanBeOpened(t *testing.T) {
	shop := shoptest.Start(t)
	causes := map[error]string{
		os.NewSyscallError("connect", syscall.EADDRNOTAVAIL): "cannot assign requested address",
		context.DeadlineExceeded:                             "deadline exceeded", // of the attempt
	}
	for name, c := range connected {
		if c.http == 3 {
			continue // HTTP/3 needs a UDP port, and TLS
		}
		for cause, says := range causes {
			at := shop.Target(t, c.protocol, c.http)
			at.Fresh = true
			client, err := newClient(at, counts{}, &wire.Meter{}, crowded{cause: cause})
			if err != nil {
				t.Fatal(err)
			}
			err = ask(t.Context(), Untraced(client.At(shop.URL)), c.protocol)
			if outcome.Of(err) != outcome.Client || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %s: %v", name, outcome.Of(err), err)
			}
		}
	}
}

// The same is true of framed Thrift.
func TestNoFramedConnectionCanBeOpened(t *testing.T) {
	services := map[string][]string{"product": {"shop.example:1"}}
	entry := target.Entry{Protocol: target.Thrift, URL: "thrift://shop.example:1", Services: services}
	at := target.Target{HTTP: 1, Entry: map[target.Channel]target.Entry{target.Web: entry}}
	client, err := newClient(at, counts{grpc: 1}, &wire.Meter{}, crowded{cause: context.DeadlineExceeded})
	if err != nil {
		t.Fatal(err)
	}
	if err := frame(t.Context(), client.At(entry.URL)); outcome.Of(err) != outcome.Client {
		t.Errorf("%s: %v", outcome.Of(err), err)
	}
}

type crowded struct {
	direct
	cause error
}

func (c crowded) DialContext(_ context.Context, network, _ string) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Net: network, Err: c.cause}
}

// An unchanged answer comes from the cache, and its bytes do not cross the wire; a changed answer is sent completely.
// Public answers are shared, private ones belong to their reader.
func TestUnchangedAnswersComeFromTheCache(t *testing.T) {
	shop := shoptest.Start(t)
	shop.Tags = true
	client, err := NewClient(shop.Target(t, target.RESTServices, 2), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	cache := NewCache()
	price := 0
	shop.Bend = func(answer map[string]any) { answer["bent"] = price }
	get := func(path, token string) (answer Response, x *Exchange) {
		x = Untraced(client.At(shop.URL))
		x.Keep(cache)
		answer, err := x.Do(t.Context(), Request{Method: http.MethodGet, Route: path, Path: path, Token: token})
		if err != nil || answer.Status != http.StatusOK {
			t.Fatalf("%s: %d, %v", path, answer.Status, err)
		}
		return answer, x
	}
	const product, user = "/v1/products/7", "/v1/users/7"
	for _, step := range []struct {
		path, token string
		price       int
		status      int
	}{
		{product, "", 0, http.StatusOK},
		{product, "", 0, http.StatusNotModified},
		{product, "fake-token-8", 0, http.StatusNotModified},
		{product, "", 1, http.StatusOK}, // as after a write
		{product, "", 1, http.StatusNotModified},
		{user, "fake-token-7", 1, http.StatusOK},
		{user, "fake-token-7", 1, http.StatusNotModified},
		{user, "fake-token-7-again", 1, http.StatusOK},
	} {
		price = step.price
		answer, x := get(step.path, step.token)
		if x.Status() != step.status || (x.Sizes().In > 0) != (step.status == http.StatusOK) {
			t.Errorf("%+v: status %d, %+v", step, x.Status(), x.Sizes())
		}
		uncached, err := Untraced(client.At(shop.URL)).Do(t.Context(), Request{Method: http.MethodGet, Route: step.path, Path: step.path, Token: step.token})
		if err != nil || !bytes.Equal(uncached.Body, answer.Body) || uncached.Type != answer.Type {
			t.Errorf("%+v: %s instead of %s, %v", step, answer.Body, uncached.Body, err)
		}
	}
	if n := cache.NotModified(); n != 4 {
		t.Errorf("%d of 8 answers were not modified", n)
	}
}

// A connection dropped without an answer is a failure of the server, even if net/http would retry the request.
func TestDroppedConnectionIsAFailure(t *testing.T) {
	for _, r := range []Request{
		{Method: http.MethodGet},
		{Method: http.MethodHead},
		{Method: http.MethodOptions},
		{Method: http.MethodDelete},
		{Method: http.MethodPost, Body: []byte("{}"), Header: map[string]string{"X-Idempotency-Key": "1"}},
	} {
		var requests atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, got *http.Request) {
			if len(got.TransferEncoding) > 0 || (got.Header.Get("Content-Length") != "") != (r.Body != nil) {
				t.Errorf("%s: %v, %v", r.Method, got.TransferEncoding, got.Header)
			}
			if requests.Add(1) == 2 {
				panic(http.ErrAbortHandler)
			}
		}))
		t.Cleanup(server.Close)
		entry := target.Entry{Protocol: target.REST, URL: server.URL}
		client, err := NewClient(target.Target{HTTP: 1, Steps: "x", Endpoints: map[string]target.Entry{"e": entry}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		r.Route, r.Path = "/", "/"
		for i, want := range []outcome.Class{outcome.OK, outcome.Server, outcome.OK} {
			if _, err := Untraced(client.At(server.URL)).Do(t.Context(), r); outcome.Of(err) != want {
				t.Errorf("%s %d: %v", r.Method, i+1, err)
			}
		}
		if n := requests.Load(); n != 3 {
			t.Errorf("%s: %d requests", r.Method, n)
		}
	}
}

// answerEmpty answers an RPC with a message without fields, and any other request without a body.
func answerEmpty(w http.ResponseWriter, r *http.Request) {
	if isRPC := r.Method == http.MethodPost; isRPC {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
		_, _ = w.Write(make([]byte, 5))
	}
}

// The number of connections is fixed over HTTP/2 and gRPC, for any number of requests under way. Requests above the
// server's limit of streams wait, and so do requests that come while a connection is being opened.
func TestNumberOfConnectionsIsFixed(t *testing.T) {
	const connections, requests = 2, 12
	for name, c := range connected {
		for _, streams := range []int{2, requests} {
			if c.proto != "HTTP/2.0" {
				continue
			}
			t.Run(fmt.Sprint(name, " with ", streams, " streams"), func(t *testing.T) {
				together := min(requests, connections*streams)
				var underWay, most atomic.Int64
				arrived, all := make(chan struct{}), make(chan struct{})
				go func() {
					for range requests / together {
						for range together {
							<-arrived
						}
						for range together {
							all <- struct{}{}
						}
					}
				}()
				server := shoptest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodHead {
						return
					}
					n := underWay.Add(1)
					defer underWay.Add(-1)
					for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
					}
					arrived <- struct{}{}
					<-all
					answerEmpty(w, r)
				}, func(s *httptest.Server) { s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: streams} })
				entry := target.Entry{Protocol: c.protocol, URL: server.URL}
				client, err := NewClient(target.Target{HTTP: c.http, Steps: "x", Endpoints: map[string]target.Entry{"e": entry}}, connections)
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				if streams < requests { // a client knows the limit only once a connection is open
					if err := client.Connect(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				limited, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				var asking errgroup.Group
				for range requests {
					asking.Go(func() error { return ask(limited, Untraced(client.At(server.URL)), c.protocol) })
				}
				if err := asking.Wait(); err != nil {
					t.Fatal(err)
				}
				if n := client.Meter().Dialed(); n != connections || most.Load() != int64(together) {
					t.Errorf("%d connections, and up to %d requests under way", n, most.Load())
				}
			})
		}
	}
}

// Requests use all connections to an address in turn, also if they alternate with requests to another address.
func TestConnectionsAreUsedInTurn(t *testing.T) {
	const connections = 2
	for name, c := range connected {
		if c.proto != "HTTP/2.0" {
			continue
		}
		var used sync.Map
		endpoints := map[string]target.Entry{}
		servers := []string{"one", "other"}
		for _, server := range servers {
			serving := shoptest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				used.Store(server+" from "+r.RemoteAddr, true)
				answerEmpty(w, r)
			})
			endpoints[server] = target.Entry{Protocol: c.protocol, URL: serving.URL}
		}
		client, err := NewClient(target.Target{HTTP: c.http, Steps: "x", Endpoints: endpoints}, connections)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		for range connections {
			for _, server := range servers {
				if err := ask(t.Context(), Untraced(client.At(endpoints[server].URL)), c.protocol); err != nil {
					t.Fatal(err)
				}
			}
		}
		count := 0
		used.Range(func(any, any) bool { count++; return true })
		if count != connections*len(servers) {
			t.Errorf("%s: %d of %d connections were used", name, count, connections*len(servers))
		}
	}
}

// An answer that could not be compared does not count as an answer without over-fetching.
func TestOverFetchingIsUnknownWithoutAComparison(t *testing.T) {
	x := Untraced(nil)
	x.Need([]string{"id"})
	x.compareMessage("no message")
	if x.Beyond() != nil {
		t.Error("nothing was compared")
	}
	x.compareMessage(&productv1.Product{Id: 1, Stock: 2})
	if got := x.Beyond(); got == nil || got.FieldsBeyond != 1 {
		t.Errorf("beyond the need is %+v", got)
	}
}
