package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hopwise/load/internal/target"
	"hopwise/load/tests/shoptest"
)

// entered has the protocols and HTTP versions over which customers watch.
var entered = map[string]struct {
	protocol target.Protocol
	http     int
	causes   map[string]int // causes that TestStreamsContinue expects
}{
	"grpc":   {target.GRPC, 2, map[string]int{over: 1, "UNAVAILABLE": 2, gone: 1}},
	"http 1": {target.REST, 1, map[string]int{over: 1, "503": 1, broken: 1, gone: 1}},
	"http 2": {target.REST, 2, map[string]int{over: 1, "503": 1, broken: 1, gone: 1}},
	"http 3": {target.REST, 3, map[string]int{over: 1, "503": 1, broken: 1, gone: 1}},
	// Subscriptions: over WebSockets, or as server-sent events.
	"graphql 1": {target.GraphQL, 1, map[string]int{over: 1, "UNAVAILABLE": 1, broken: 1, gone: 1}},
	"graphql 2": {target.GraphQL, 2, map[string]int{over: 1, "UNAVAILABLE": 1, broken: 1, gone: 1}},
	"graphql 3": {target.GraphQL, 3, map[string]int{over: 1, "UNAVAILABLE": 1, broken: 1, gone: 1}},
}

// start starts a shop, over HTTP/3 with TLS.
func start(t *testing.T, p target.Protocol, version int) (*shoptest.Shop, target.Target) {
	t.Helper()
	if version < 3 {
		shop := shoptest.Start(t)
		return shop, shop.Target(t, p, version)
	}
	authority := shoptest.NewAuthority(t)
	shop := shoptest.StartQUIC(t, authority.Issue(t, "127.0.0.1", time.Now().Add(time.Hour)))
	at := shop.Target(t, p, version)
	at.CACertificate = authority.Write(t)
	return shop, at
}

func customers(count int) []Customer {
	all := make([]Customer, count)
	for i := range all {
		all[i] = Customer{UserID: int64(8001 + i), Token: fmt.Sprint("fake-token-", 8001+i)}
	}
	return all
}

// run lets the customers watch until the expected updates have arrived, and returns the written results.
func run(t *testing.T, at target.Target, o Options, expected int64, heard func(Update)) (Figures, []Update) {
	t.Helper()
	o.Out, o.Duration, o.Channel = t.TempDir(), time.Minute, target.Web
	crowd, err := NewCrowd(at, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	var arrived atomic.Int64
	arrived.Store(-1) // the report that all are open counts too
	arrive := func() {
		if arrived.Add(1) == expected {
			enough()
		}
	}
	for _, w := range crowd.watchers {
		w.report = func(u Update) {
			crowd.add(u)
			heard(u)
			arrive()
		}
	}
	figures, err := crowd.Run(ctx, func(float64) error { arrive(); return nil })
	if !errors.Is(err, context.Canceled) || !figures.Incomplete {
		t.Errorf("the watch was not ended by its updates: %v, %+v", err, figures)
	}
	text, err := os.ReadFile(filepath.Join(o.Out, "updates.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var updates []Update
	for line := range bytes.Lines(text) {
		updates = append(updates, Update{})
		if err := json.Unmarshal(line, &updates[len(updates)-1]); err != nil {
			t.Fatal(err)
		}
	}
	return figures, updates
}

func positions(updates []Update) (all []int64) {
	for _, u := range updates {
		all = append(all, u.Position)
	}
	return all
}

// A stream that ends or began too far back is opened again after the last position; repeats and gaps are counted.
func TestStreamsContinue(t *testing.T) {
	for name, c := range entered {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop, at := start(t, c.protocol, c.http)
			var (
				mu    sync.Mutex
				after []int64
				last  = make(chan int64, 100)
			)
			shop.Told = func(int64) []int64 { return []int64{12, 11} }
			shop.Watched = func(s shoptest.Stream) error {
				mu.Lock()
				if s.After != nil {
					after = append(after, *s.After)
				}
				nth := len(after)
				mu.Unlock()
				switch nth {
				case 0:
					s.Open(5)
					s.Tell(6, 7)
				case 1:
					s.Open(7)
					s.Tell(7, 9) // 7 is repeated, and 8 is skipped
					for position := range last {
						if position == 9 {
							break
						}
					}
					shop.CloseConnections()
				case 2:
					return status.Error(codes.OutOfRange, "9 is not kept any more")
				case 3:
					return status.Error(codes.Unavailable, "the shop stops")
				default:
					s.Open(12)
					s.Open(12)
					s.Tell(13)
					<-s.Done()
				}
				return nil
			}
			figures, updates := run(t, at, Options{Customers: customers(1), Way: Push}, 7,
				func(u Update) { last <- u.Position })
			mu.Lock()
			defer mu.Unlock()
			if got := positions(updates); !slices.Equal(got, []int64{6, 7, 7, 9, 11, 12, 13}) {
				t.Errorf("updates %v", got)
			}
			if !slices.Equal(after, []int64{7, 9, 12, 12}) {
				t.Errorf("streams were opened behind %v", after)
			}
			if !maps.Equal(figures.Reconnects, c.causes) || figures.Updates != 7 || figures.Repeated != 1 || figures.Missed != 2 {
				t.Errorf("figures %+v", figures)
			}
			if figures.LongestReconnectS <= 0 || figures.LongestReconnectS > 10 || figures.BytesIn <= 0 || figures.OpeningIn <= 0 {
				t.Errorf("figures %+v", figures)
			}
			want := Update{
				UserID: 8001, Position: 7, OrderID: shoptest.OrderTold(7), Status: "CONFIRMED", CreatedNs: shoptest.ToldAt.UnixNano(), Again: true,
			}
			if got := updates[2]; time.Since(time.Unix(0, got.ArrivedNs)) > time.Minute {
				t.Errorf("arrived %v", got)
			} else if got.ArrivedNs = 0; got != want {
				t.Errorf("update %+v, expected %+v", got, want)
			}
		})
	}
}

// Each watcher has a separate connection, or all watchers share the given number.
func TestConnections(t *testing.T) {
	for name, c := range entered {
		for asked, expected := range map[int]int64{0: 60, 3: 3} {
			if c.http == 1 && asked > 0 {
				continue
			}
			t.Run(fmt.Sprint(name, " ", asked), func(t *testing.T) {
				t.Parallel()
				shop, at := start(t, c.protocol, c.http)
				shop.Watched = func(s shoptest.Stream) error {
					s.Open(0)
					s.Tell(1)
					<-s.Done()
					return nil
				}
				figures, updates := run(t, at, Options{Customers: customers(60), Way: Push, Connections: asked}, 60,
					func(Update) {})
				if figures.Dialed != expected || figures.Connections != int(expected) || len(updates) != 60 || len(figures.Reconnects) != 0 {
					t.Errorf("figures %+v", figures)
				}
				for i, seen := range shop.Seen() {
					if token := seen.Header.Get("Authorization"); len(token) < len("Bearer fake-token-8001") {
						t.Errorf("request %d has the token %q", i, token)
					}
				}
			})
		}
	}
}

// New updates in the list are recorded once, oldest first; an unchanged list is not sent again.
func TestPolls(t *testing.T) {
	for name, c := range entered {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop, at := start(t, c.protocol, c.http)
			shop.Tags, shop.Gzip = true, true
			lists := [][]int64{{2, 1}, {2, 1}, {3, 2, 1}, {3, 2, 1}, {6, 5}}
			var asked atomic.Int64
			shop.Told = func(int64) []int64 { return lists[min(int(asked.Add(1)), len(lists))-1] }
			o := Options{Customers: customers(1), Way: Poll, Interval: 10 * time.Millisecond}
			figures, updates := run(t, at, o, 3, func(Update) {})
			if got := positions(updates); !slices.Equal(got, []int64{3, 5, 6}) {
				t.Errorf("updates %v", got)
			}
			if figures.Missed != 1 || figures.Repeated != 0 || len(figures.FailedPolls) != 0 || figures.Dialed != 1 || figures.IntervalS != 0.01 {
				t.Errorf("figures %+v", figures)
			}
			for i, seen := range shop.Seen() {
				if conditional := seen.Header.Get("If-None-Match") != ""; conditional != (c.protocol == target.REST && i > 0) {
					t.Errorf("request %d is conditional: %v", i, conditional)
				}
			}
		})
	}
}

// Refused streams end the command before it reports that all are open.
func TestRefusedAtOnce(t *testing.T) {
	for name, c := range entered {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop, at := start(t, c.protocol, c.http)
			shop.Watched = func(s shoptest.Stream) error {
				if s.User == 8002 {
					return status.Error(codes.Unavailable, "the shop is full")
				}
				s.Open(0)
				<-s.Done()
				return nil
			}
			crowd, err := NewCrowd(at, Options{
				Customers: customers(2), Channel: target.Web, Way: Push, Out: t.TempDir(), Duration: time.Minute,
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = crowd.Run(t.Context(), func(float64) error { t.Error("it is said to be open"); return nil })
			if err == nil || !bytes.HasPrefix([]byte(err.Error()), []byte("customer 8002 cannot watch, while ")) || causeOf(err) == broken {
				t.Errorf("error %v", err)
			}
		})
	}
}
