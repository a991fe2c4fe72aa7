package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"hopwise/load/internal/exchange"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/jsonline"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/record"
	"hopwise/load/internal/session"
	"hopwise/load/internal/tape"
	"hopwise/load/internal/target"
	"hopwise/load/internal/workload"
	"hopwise/load/tests/shoptest"
)

var ways = []way{
	{target.GraphQL, target.Best},
	{target.GraphQLServices, target.Best},
	{target.GraphQLServices, target.Naive},
	{target.REST, target.Best},
	{target.REST, target.Naive},
	{target.RESTServices, target.Best},
	{target.RESTServices, target.Naive},
	{target.RESTTranscoded, target.Best},
	{target.GRPC, target.Best},
	{target.GRPC, target.Naive},
	{target.GRPC, target.Streaming},
	{target.GRPCConnectClient, target.Best},
	{target.GRPCWeb, target.Best},
	{target.GRPCWeb, target.Streaming},
	{target.Connect, target.Best},
	{target.Connect, target.Streaming},
}

type way struct {
	protocol target.Protocol
	plan     target.Plan
}

func (w way) String() string { return string(w.protocol) + ", " + string(w.plan) }

func (w way) speaksGRPC() bool {
	return w.protocol == target.GRPC || w.protocol == target.GRPCConnectClient
}

// at returns a target at which every channel uses this way.
func (w way) at(t testing.TB, shop *shoptest.Shop, version int) target.Target {
	at := shop.Target(t, w.protocol, version)
	at.Plan = w.plan
	return at
}

func (w way) entries(all []journey.Entry) []journey.Entry {
	return slices.DeleteFunc(slices.Clone(all), func(e journey.Entry) bool {
		return w.protocol == target.RESTTranscoded && (e.Channel != target.Partner || e.Journey == journey.ProductFeed)
	})
}

func newRunner(t testing.TB, at target.Target, entries []journey.Entry) *Runner {
	t.Helper()
	runner, err := NewRunner(at, entries)
	if err != nil {
		t.Fatal(err)
	}
	key, err := session.ReadKey(at.JWTPrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	if runner.Sessions, err = session.Open(key, entries, time.Now()); err != nil {
		t.Fatal(err)
	}
	if runner.Client, err = exchange.NewClient(at, 4); err != nil {
		t.Fatal(err)
	}
	runner.Scale, runner.Timeout = 1, 5*time.Second
	t.Cleanup(runner.Client.Close)
	return runner
}

func prepare(t testing.TB, at target.Target, entries []journey.Entry) *Runner {
	t.Helper()
	runner := newRunner(t, at, entries)
	if err := runner.Prepare(context.Background(), entries); err != nil {
		t.Fatal(err)
	}
	return runner
}

func succeed(t testing.TB, runner *Runner, e journey.Entry) record.Row {
	t.Helper()
	row, _ := runner.Run(context.Background(), e, time.Now(), false)
	if row.Outcome != outcome.OK {
		t.Fatalf("%s through %s: %s", e.Journey, e.Channel, row.Error)
	}
	return row
}

// one returns a journey of each kind that the workload files have.
func one(t testing.TB) []journey.Entry {
	t.Helper()
	w, err := workload.Load("../../workloads/even.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"document", "screens"} {
		apart, err := workload.Load("../../workloads/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		w.Mix = append(w.Mix, apart.Mix...)
	}
	made, err := tape.Build(tape.Spec{Workload: w, Seed: 5, Rate: 20, Duration: 10 * time.Second, Scale: 1})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var entries []journey.Entry
	for _, e := range made.Entries {
		if kind := fmt.Sprint(e.Journey, e.Channel); !seen[kind] {
			seen[kind] = true
			entries = append(entries, e)
		}
	}
	if len(entries) != len(w.Mix) {
		t.Fatalf("found %d of %d kinds", len(entries), len(w.Mix))
	}
	return entries
}

func find(t testing.TB, name journey.Name) journey.Entry {
	t.Helper()
	for _, e := range one(t) {
		if e.Journey == name {
			return e
		}
	}
	t.Fatalf("no %s", name)
	return journey.Entry{}
}

// Every journey has the same canonical answer in every protocol and HTTP version, compressed or not.
func TestJourneysAgree(t *testing.T) {
	answers := map[int64]string{}
	for _, way := range ways {
		for _, version := range []int{1, 2} {
			for _, packed := range []bool{false, true} {
				if way.protocol == target.GRPCConnectClient && version != 2 {
					continue // such a target is refused
				}
				t.Run(fmt.Sprintf("%s over HTTP/%d, gzip %v", way, version, packed), func(t *testing.T) {
					shop := shoptest.Start(t)
					shop.Gzip = packed
					entries := way.entries(one(t))
					runner := prepare(t, way.at(t, shop, version), entries)
					for _, e := range entries {
						row, canonical := runner.Run(context.Background(), e, time.Now(), false)
						if row.Outcome != outcome.OK {
							t.Errorf("%s through %s: %s: %s", e.Journey, e.Channel, row.Outcome, row.Error)
							continue
						}
						if first := answers[e.Seq]; first == "" {
							answers[e.Seq] = string(canonical)
							if sorted := sortedJSON(t, canonical); string(canonical) != sorted {
								t.Errorf("%s: canonical form\n%s\nsorted\n%s", e.Journey, canonical, sorted)
							}
						} else if first != string(canonical) {
							t.Errorf("%s: the answers differ:\n%s\n%s", e.Journey, first, canonical)
						}
						if row.AnswerSHA256 != journey.Digest(canonical) || row.BytesIn == 0 || (e.Journey == journey.Checkout) != (row.OrderID > 0) {
							t.Errorf("row %+v", row)
						}
					}
					for _, seen := range shop.Seen() {
						want := fmt.Sprintf("HTTP/%d", version)
						if way.speaksGRPC() {
							want = "HTTP/2" // gRPC has no other version
						}
						if !strings.HasPrefix(seen.Proto, want) {
							t.Errorf("%s %s came over %s", seen.Method, seen.Path, seen.Proto)
						}
					}
				})
			}
		}
	}
}

// Connect reads with GET and no body, and writes with POST; gRPC-Web only has POST. Both send their content type.
func TestMethodsOfBrowsersProtocols(t *testing.T) {
	changes := map[string]bool{"Checkout": true, "Login": true, "UpdateUser": true, "StreamOrderLines": true}
	for protocol, kind := range map[target.Protocol]string{target.Connect: "application/proto", target.GRPCWeb: "application/grpc-web+proto"} {
		shop := shoptest.Start(t)
		entries := one(t)
		runner := prepare(t, shop.Target(t, protocol, 1), entries)
		for _, e := range entries {
			succeed(t, runner, e)
		}
		for _, seen := range shop.Seen() {
			method := seen.Path[strings.LastIndex(seen.Path, "/")+1:]
			if gets := protocol == target.Connect && !changes[method]; gets != (seen.Method == http.MethodGet) || gets && len(seen.Body) > 0 {
				t.Errorf("%s: %s came by %s with %d bytes", protocol, method, seen.Method, len(seen.Body))
			}
			if got := seen.Header.Get("Content-Type"); seen.Method == http.MethodPost && got != kind && got != "application/connect+proto" {
				t.Errorf("%s: %s came as %s", protocol, method, got)
			}
		}
	}
}

// Journeys of the kind with exclusive components send its name in each request; other journeys do not.
func TestKindOfJourneyIsSent(t *testing.T) {
	for _, way := range ways {
		t.Run(way.String(), func(t *testing.T) {
			shop := shoptest.Start(t)
			at := way.at(t, shop, 2)
			at.Apart = string(journey.BulkLines)
			entries := way.entries(one(t))
			runner := prepare(t, at, entries)
			for _, e := range entries {
				before := len(shop.Seen())
				succeed(t, runner, e)
				want := ""
				if e.Journey == journey.BulkLines {
					want = at.Apart
				}
				for _, seen := range shop.Seen()[before:] {
					if got := seen.Header.Get("X-Journey"); got != want {
						t.Errorf("%s: %s %s names %q, not %q", e.Journey, seen.Method, seen.Path, got, want)
					}
				}
			}
		})
	}
}

// Requests after a journey's first answer are the most urgent; before it, a checkout's are more urgent than others.
func TestUrgency(t *testing.T) {
	for _, way := range ways {
		t.Run(way.String(), func(t *testing.T) {
			shop := shoptest.Start(t)
			at := way.at(t, shop, 2)
			at.Urgent = true
			entries := way.entries(one(t))
			runner := prepare(t, at, entries)
			for _, e := range entries {
				before := len(shop.Seen())
				row := succeed(t, runner, e)
				seen := shop.Seen()[before:]
				first, last := seen[0].Header.Get("Priority"), seen[len(seen)-1].Header.Get("Priority")
				if want := map[bool]string{true: "u=1"}[e.Journey == journey.Checkout]; first != want {
					t.Errorf("%s: its first request says %q, not %q", e.Journey, first, want)
				}
				if row.Waves > 1 && last != "u=0" {
					t.Errorf("%s: the last of its %d requests says %q", e.Journey, len(seen), last)
				}
			}
		})
	}
}

func TestUnknownExclusiveKindIsNamed(t *testing.T) {
	at := ways[0].at(t, shoptest.Start(t), 2)
	at.Apart = "dance"
	if _, err := NewRunner(at, one(t)); err == nil || !strings.Contains(err.Error(), `apart: journey "dance" is unknown; journeys: browse`) {
		t.Errorf("%v", err)
	}
}

// sortedJSON sorts all keys and removes all spaces, as other programs do to compute the canonical form.
func sortedJSON(t *testing.T, text []byte) string {
	t.Helper()
	var anything any
	if err := json.Unmarshal(text, &anything); err != nil {
		t.Fatal(err)
	}
	sorted, err := jsonline.Of(anything) // maps are encoded by ascending key
	if err != nil {
		t.Fatal(err)
	}
	return string(sorted)
}

type shape [3]int64

// Each plan is the best for its protocol: the fewest requests, and no unnecessary waves. A naive plan has a request per
// item, one after another; the fake's orders have two lines. A new connection for each request changes nothing.
func TestShapeOfPlans(t *testing.T) {
	single, pair := shape{1, 1, 1}, shape{2, 2, 1}
	want := map[way]map[journey.Name]shape{
		{target.GraphQL, target.Best}: {journey.Login: pair},
		{target.GraphQLServices, target.Best}: {
			journey.Login: pair, journey.OrderHistory: {3, 2, 2}, journey.OrderStatus: {2, 1, 2},
		},
		{target.GraphQLServices, target.Naive}: {
			journey.Login: pair, journey.Browse: {21, 21, 1}, journey.OrderHistory: {31, 31, 1}, journey.OrderStatus: pair,
		},
		{target.REST, target.Best}:  {journey.Login: pair},
		{target.REST, target.Naive}: {journey.Login: pair}, // the gateway composes in both plans
		{target.RESTServices, target.Best}: {
			journey.Login: pair, journey.OrderHistory: {3, 2, 2}, journey.OrderStatus: {2, 1, 2},
		},
		{target.RESTServices, target.Naive}: {
			journey.Login: pair, journey.Browse: {21, 21, 1}, journey.OrderHistory: {31, 31, 1}, journey.OrderStatus: pair,
		},
		{target.RESTTranscoded, target.Best}: {journey.OrderStatus: {2, 1, 2}},
		{target.GRPC, target.Best}: {
			journey.Login: pair, journey.OrderHistory: {3, 2, 2}, journey.OrderStatus: {2, 1, 2},
		},
		{target.GRPC, target.Streaming}: {
			journey.Login: pair, journey.OrderHistory: {3, 2, 2}, journey.OrderStatus: {2, 1, 2},
		},
		{target.GRPC, target.Naive}: {
			journey.Login: pair, journey.Browse: {21, 21, 1}, journey.OrderHistory: {31, 31, 1}, journey.OrderStatus: pair,
		},
	}
	for _, protocol := range []target.Protocol{target.GRPCConnectClient, target.GRPCWeb, target.Connect} {
		for _, plan := range []target.Plan{target.Best, target.Streaming} {
			want[way{protocol, plan}] = want[way{target.GRPC, plan}]
		}
	}
	for _, way := range ways {
		for _, fresh := range []bool{false, true} {
			shop := shoptest.Start(t)
			entries := way.entries(one(t))
			at := way.at(t, shop, 2)
			at.Fresh = fresh
			runner := prepare(t, at, entries)
			registering, opened := len(shop.Seen()), runner.Client.Meter().Dialed()
			// The shop answers after a short delay, so that all requests of a wave have arrived.
			shop.Fault = func(http.ResponseWriter, shoptest.Seen) bool { time.Sleep(5 * time.Millisecond); return false }
			for _, e := range entries {
				row, _ := runner.Run(context.Background(), e, time.Now(), false)
				expected, listed := want[way][e.Journey]
				if !listed {
					expected = single
				}
				if got := (shape{row.Requests, row.Waves, row.Parallel}); got != expected {
					t.Errorf("%s: %s took %v requests, waves, side by side, instead of %v: %s", way, e.Journey, got, expected, row.Error)
				}
			}
			requests := shop.Seen()[registering:]
			for _, seen := range requests {
				if strings.Contains(string(seen.Body), `"query"`) {
					t.Errorf("%s sent the text of a query during the load: %s", way, seen.Body)
				}
			}
			if dialed := int(runner.Client.Meter().Dialed() - opened); fresh != (dialed == len(requests)) || !fresh && dialed != 0 {
				t.Errorf("%s, connections kept: %v: opened %d for %d requests", way, !fresh, dialed, len(requests))
			}
		}
	}
}

// Registering queries must not run mutations.
func TestPrepareChangesNothing(t *testing.T) {
	shop := shoptest.Start(t)
	shop.Bend = func(answer map[string]any) {
		if data, ok := answer["data"].(map[string]any); ok && (data["checkout"] != nil || data["login"] != nil || data["updateProfile"] != nil) {
			t.Errorf("a mutation ran: %v", data)
		}
	}
	prepare(t, shop.Target(t, target.GraphQL, 2), one(t))
	if len(shop.Seen()) == 0 {
		t.Error("nothing was registered")
	}
}

// Without persisted queries, every request carries the document's text and no hash; the answers are the same.
func TestQueriesThatAreNotPersistedGoAsTexts(t *testing.T) {
	shop := shoptest.Start(t)
	at := shop.Target(t, target.GraphQL, 2)
	at.Texts = true
	entries := one(t)
	runner := prepare(t, at, entries)
	for _, e := range entries {
		succeed(t, runner, e)
	}
	for _, seen := range shop.Seen() {
		if body := string(seen.Body); !strings.Contains(body, `"query":`) || strings.Contains(body, "persistedQuery") {
			t.Errorf("sent %s", body)
		}
	}
}

// For a shared cache, persisted queries are sent with GET, and mutations with POST; the answers are the same.
func TestPersistedQueriesGoByGetForASharedCache(t *testing.T) {
	shop := shoptest.Start(t)
	at := shop.Target(t, target.GraphQL, 2)
	at.Gets = true
	entries := one(t)
	runner := prepare(t, at, entries)
	registered := len(shop.Seen())
	for _, e := range entries {
		succeed(t, runner, e)
	}
	methods := map[string]int{}
	for _, seen := range shop.Seen()[registered:] {
		methods[seen.Method]++
		if seen.Method == http.MethodGet && (len(seen.Body) > 0 || !strings.Contains(seen.Query, "sha256Hash")) {
			t.Errorf("a GET with the query %q and the body %q", seen.Query, seen.Body)
		}
	}
	if methods[http.MethodGet] == 0 || methods[http.MethodPost] == 0 {
		t.Errorf("sent %v", methods)
	}
}

// A restarted gateway has lost the queries; the client sends the text once more, and the request counts.
func TestForgottenQueryIsRegisteredAgain(t *testing.T) {
	shop := shoptest.Start(t)
	e := find(t, journey.Product)
	runner := prepare(t, shop.Target(t, target.GraphQL, 2), []journey.Entry{e})
	shop.Forget()
	for _, want := range []int64{2, 1} {
		row, _ := runner.Run(context.Background(), e, time.Now(), false)
		if row.Outcome != outcome.OK || row.Requests != want {
			t.Errorf("%s after %d requests instead of %d: %s", row.Outcome, row.Requests, want, row.Error)
		}
	}
}

// Bodies are counted in their compressed size on the wire, and the counts match the bytes sent.
func TestBytesAreCountedOnTheWire(t *testing.T) {
	sizes := map[bool]record.Row{}
	for _, packed := range []bool{false, true} {
		shop := shoptest.Start(t)
		shop.Gzip = packed
		e := find(t, journey.BulkLines)
		runner := prepare(t, shop.Target(t, target.GraphQL, 2), []journey.Entry{e})
		sizes[packed], _ = runner.Run(context.Background(), e, time.Now(), false)
		seen := shop.Seen()
		if sent := int64(len(seen[len(seen)-1].Body)); sizes[packed].BytesOut != sent {
			t.Errorf("bytes_out is %d, the shop got %d", sizes[packed].BytesOut, sent)
		}
	}
	if plain, packed := sizes[false].BytesIn, sizes[true].BytesIn; packed*3 > plain {
		t.Errorf("%d bytes compressed, %d plain", packed, plain)
	}
}

// Each request carries its sender's token: visitors send none, customers their own, partners the partner's.
func TestSessions(t *testing.T) {
	cases := []struct {
		journey journey.Name
		channel target.Channel
		role    string
	}{
		{journey.Browse, target.Web, ""},
		{journey.Product, target.Mobile, ""},
		{journey.OrderHistory, target.Web, "customer"},
		{journey.Checkout, target.Web, "customer"},
		{journey.Checkout, target.Partner, "partner"},
		{journey.UpdateProfile, target.Web, "customer"},
		{journey.OrderStatus, target.Partner, "partner"},
		{journey.BulkLines, target.Partner, "partner"},
	}
	for _, c := range cases {
		shop := shoptest.Start(t)
		e := find(t, c.journey)
		e.Channel = c.channel
		runner := newRunner(t, shop.Target(t, target.REST, 2), []journey.Entry{e})
		runner.Run(context.Background(), e, time.Now(), false)
		got := shop.Seen()[0].Header.Get("Authorization")
		if (got == "") != (c.role == "") {
			t.Errorf("%s through %s: authorization %q", c.journey, c.channel, got)
		}
	}
}

// Every request carries a W3C trace context; without tracing its flag says not sampled.
func TestUnsampledTraceContext(t *testing.T) {
	shop := shoptest.Start(t)
	e := find(t, journey.Product)
	runner := newRunner(t, shop.Target(t, target.REST, 2), []journey.Entry{e})
	row, _ := runner.Run(context.Background(), e, time.Now(), true)
	got := shop.Seen()[0].Header.Get("Traceparent")
	if !strings.HasPrefix(got, "00-"+row.TraceID+"-") || !strings.HasSuffix(got, "-00") || len(got) != 55 || row.Sampled {
		t.Errorf("traceparent %q, row %+v", got, row)
	}
}

// A partner's checkout names the user in both protocols. In GraphQL, a customer's token identifies the user instead.
func TestPartnerChecksOutForAnyone(t *testing.T) {
	for _, protocol := range []target.Protocol{target.GraphQL, target.REST} {
		for _, channel := range []target.Channel{target.Web, target.Partner} {
			shop := shoptest.Start(t)
			e := find(t, journey.Checkout)
			e.Channel = channel
			runner := prepare(t, shop.Target(t, protocol, 2), []journey.Entry{e})
			runner.Run(context.Background(), e, time.Now(), false)
			seen := shop.Seen()
			last := seen[len(seen)-1]
			named := strings.Contains(string(last.Body), `"userId"`) || strings.Contains(string(last.Body), `"user_id"`)
			if want := channel == target.Partner || protocol == target.REST; named != want {
				t.Errorf("%s, %s: %s", protocol, channel, last.Body)
			}
			if protocol == target.REST && last.Header.Get("Idempotency-Key") != e.Params.IdempotencyKey {
				t.Errorf("idempotency key %q", last.Header.Get("Idempotency-Key"))
			}
		}
	}
}

// Without an edge, each channel has its own address, and journeys go to the address of their channel.
func TestChannelsEnterAtTheirOwnAddresses(t *testing.T) {
	gateways := map[target.Protocol]*shoptest.Shop{target.GraphQL: shoptest.Start(t), target.REST: shoptest.Start(t)}
	at := gateways[target.GraphQL].Target(t, target.GraphQL, 1)
	at.Entry[target.Partner] = target.Entry{Protocol: target.REST, URL: gateways[target.REST].URL}
	entries := one(t)
	runner := prepare(t, at, entries)
	for _, e := range entries {
		before := map[target.Protocol]int{}
		for protocol, gateway := range gateways {
			before[protocol] = len(gateway.Seen())
		}
		succeed(t, runner, e)
		for protocol, gateway := range gateways {
			reached := len(gateway.Seen()) > before[protocol]
			if reached != (at.Entry[e.Channel].Protocol == protocol) {
				t.Errorf("%s of %s reached the %s gateway: %v", e.Journey, e.Channel, protocol, reached)
			}
		}
	}
}

// Answers have the fields that screens need, and clients that request only these fields get only these fields.
func TestSelectionsAgree(t *testing.T) {
	screens := slices.DeleteFunc(one(t), func(e journey.Entry) bool { return e.Journey.Shows() == nil })
	if len(screens) != 3 {
		t.Fatalf("%d journeys show a part of a resource", len(screens))
	}
	answers := map[int64]string{}
	for _, protocol := range []target.Protocol{target.GraphQL, target.REST, target.RESTServices, target.GRPC, target.GRPCWeb, target.Connect, target.GRPCConnectClient} {
		for _, selection := range []target.Selection{"", target.SelectsNothing, target.SelectsGraphQL, target.SelectsAll} {
			t.Run(fmt.Sprintf("%s, selection %q", protocol, selection), func(t *testing.T) {
				shop := shoptest.Start(t)
				at := shop.Target(t, protocol, 2)
				at.Selection = selection
				runner := prepare(t, at, screens)
				runner.Compares = true
				for _, entry := range screens {
					row, canonical := runner.Run(context.Background(), entry, time.Now(), false)
					if row.Outcome != outcome.OK {
						t.Fatalf("%s: %s", entry.Journey, row.Error)
					}
					if answers[entry.Seq] == "" {
						answers[entry.Seq] = string(canonical)
					}
					if got := string(canonical); got != answers[entry.Seq] {
						t.Errorf("%s: %s, want %s", entry.Journey, got, answers[entry.Seq])
					}
					selects := selection == target.SelectsAll || protocol == target.GraphQL && selection != target.SelectsNothing
					if beyond := row.Beyond; (beyond.FieldsBeyond == 0) != selects || (beyond.BytesBeyond == 0) != selects || beyond.Fields == 0 {
						t.Errorf("%s: beyond the need is %+v", entry.Journey, beyond)
					}
				}
			})
		}
	}
}
