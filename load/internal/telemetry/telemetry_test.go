package telemetry

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hopwise/load/internal/outcome"
	"hopwise/load/internal/target"
)

var (
	entry    = Subject{Journey: "order_history", Channel: "web", Seq: 7}
	intended = time.Unix(1_700_000_000, 123_456_789)
)

// A sampled journey leaves this tree, in which the root begins at the intended arrival:
//
//	order_history          INTERNAL  intended ------------------ ended
//	├── start_lag          INTERNAL  intended -- started
//	├── handshake          INTERNAL           (before any request)
//	└── POST /graphql      CLIENT                  (one request)
//	    └── link_up        INTERNAL
func TestTree(t *testing.T) {
	memory := tracetest.NewInMemoryExporter()
	tracing := openWith(keepOnShutdown{memory}, target.Target{Topology: "hybrid", Trial: "t1"})
	started := intended.Add(250 * time.Microsecond)
	ended := started.Add(5 * time.Millisecond)
	j := tracing.Start(entry, intended, started, true)
	call := j.Call("POST", "/graphql", "/graphql")
	header := call.Traceparent()
	opened, answered := started.Add(time.Millisecond), ended.Add(-time.Millisecond)
	j.Within(Handshake, started, opened)
	call.Within(LinkUp, opened, answered)
	call.EndedAt(answered).End(200, nil)
	j.End(ended, outcome.OK)
	if err := tracing.Close(context.Background()); err != nil {
		t.Fatal(err)
	}

	spans := map[string]tracetest.SpanStub{}
	for _, span := range memory.GetSpans() {
		spans[span.Name] = span
	}
	root, lag, client := spans["order_history"], spans["start_lag"], spans["POST /graphql"]
	shook, up := spans[Handshake], spans[LinkUp]
	if len(spans) != 5 || shook.Parent.SpanID() != root.SpanContext.SpanID() || up.Parent.SpanID() != client.SpanContext.SpanID() || root.Parent.IsValid() || lag.Parent.SpanID() != root.SpanContext.SpanID() || client.Parent.SpanID() != root.SpanContext.SpanID() {
		t.Fatalf("spans %+v", spans)
	}
	if !root.StartTime.Equal(intended) || !root.EndTime.Equal(ended) || !lag.StartTime.Equal(intended) || !lag.EndTime.Equal(started) {
		t.Errorf("root %v to %v, lag %v to %v", root.StartTime, root.EndTime, lag.StartTime, lag.EndTime)
	}
	if !shook.StartTime.Equal(started) || !shook.EndTime.Equal(opened) || !up.StartTime.Equal(opened) || !up.EndTime.Equal(answered) || !client.EndTime.Equal(answered) {
		t.Errorf("handshake %v to %v, up %v to %v, call until %v", shook.StartTime, shook.EndTime, up.StartTime, up.EndTime, client.EndTime)
	}
	if root.SpanKind != trace.SpanKindInternal || lag.SpanKind != trace.SpanKindInternal || client.SpanKind != trace.SpanKindClient {
		t.Errorf("kinds %v %v %v", root.SpanKind, lag.SpanKind, client.SpanKind)
	}
	if want := "00-" + j.TraceID() + "-" + client.SpanContext.SpanID().String() + "-01"; header != want {
		t.Errorf("traceparent %q, expected %q", header, want)
	}
	attributes := map[string]string{}
	for _, kv := range append(root.Attributes, root.Resource.Attributes()...) {
		attributes[string(kv.Key)] = kv.Value.Emit()
	}
	for key, want := range map[string]string{
		"service.name": "client", "shop.journey": "order_history", "shop.channel": "web", "shop.topology": "hybrid",
		"shop.trial": "t1", "shop.seq": "7", "shop.outcome": "ok",
	} {
		if attributes[key] != want {
			t.Errorf("%s is %q, expected %q", key, attributes[key], want)
		}
	}
	if tracing.Exported() != 5 || tracing.Dropped() != 0 {
		t.Errorf("%d exported, %d dropped", tracing.Exported(), tracing.Dropped())
	}
}

// The root of a journey against another target does not use the shop's conventions.
func TestTheRootOfAnotherTarget(t *testing.T) {
	memory := tracetest.NewInMemoryExporter()
	tracing := openWith(keepOnShutdown{memory}, target.Target{Topology: "library", Steps: "steps.json"})
	tracing.Start(entry, intended, intended, true).End(intended.Add(time.Second), outcome.OK)
	if err := tracing.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	root := memory.GetSpans()[0]
	for _, kv := range append(root.Attributes, root.Resource.Attributes()...) {
		if strings.HasPrefix(string(kv.Key), "shop.") {
			t.Errorf("%s names the shop", kv.Key)
		}
	}
	if !slices.Contains(root.Attributes, attribute.String("load.journey", entry.Journey)) {
		t.Errorf("no journey in %v", root.Attributes)
	}
}

// An RPC leaves a CLIENT span named after its method, with the status of the server or the library.
func TestRPC(t *testing.T) {
	memory := tracetest.NewInMemoryExporter()
	tracing := openWith(keepOnShutdown{memory}, target.Target{})
	j := tracing.Start(entry, intended, intended, true)
	j.RPC(GRPC, "/shop.order.v1.OrderService/GetOrder").EndRPC(nil, nil)
	away := status.Error(codes.Unavailable, "away")
	j.RPC(GRPC, "/shop.order.v1.OrderService/Checkout").EndRPC(away, outcome.Failed(outcome.Server, "%w", away))
	j.End(intended.Add(time.Second), outcome.Server)
	if err := tracing.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	spans := map[string]map[string]string{}
	for _, span := range memory.GetSpans() {
		attributes := map[string]string{"kind": span.SpanKind.String()}
		for _, kv := range span.Attributes {
			attributes[string(kv.Key)] = kv.Value.Emit()
		}
		spans[span.Name] = attributes
	}
	for name, want := range map[string]map[string]string{
		"shop.order.v1.OrderService/GetOrder": {
			"kind": "client", "rpc.system": "grpc", "rpc.service": "shop.order.v1.OrderService", "rpc.method": "GetOrder", "rpc.grpc.status_code": "0",
		},
		"shop.order.v1.OrderService/Checkout": {
			"kind": "client", "rpc.system": "grpc", "rpc.service": "shop.order.v1.OrderService", "rpc.method": "Checkout",
			"rpc.grpc.status_code": "14", "error.type": "server",
		},
	} {
		if !maps.Equal(spans[name], want) {
			t.Errorf("%s has %v, expected %v", name, spans[name], want)
		}
	}
}

// keepOnShutdown keeps the spans, which the in-memory exporter drops when it is shut down.
type keepOnShutdown struct{ *tracetest.InMemoryExporter }

func (keepOnShutdown) Shutdown(context.Context) error { return nil }

// An unsampled journey makes no span, and its trace context tells the shop so.
func TestUnsampled(t *testing.T) {
	memory := tracetest.NewInMemoryExporter()
	tracing := openWith(keepOnShutdown{memory}, target.Target{})
	j := tracing.Start(entry, intended, intended.Add(time.Millisecond), false)
	first, second := j.Call("GET", "/a", "/a").Traceparent(), j.Call("GET", "/b", "/b").Traceparent()
	j.End(intended.Add(time.Second), outcome.Server)
	if err := tracing.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(memory.GetSpans()) != 0 {
		t.Errorf("spans %+v", memory.GetSpans())
	}
	prefix := "00-" + j.TraceID() + "-"
	if !strings.HasPrefix(first, prefix) || !strings.HasPrefix(second, prefix) || !strings.HasSuffix(first, "-00") || first == second {
		t.Errorf("traceparents %q and %q", first, second)
	}
}

type brokenExporter struct{ sdktrace.SpanExporter }

func (brokenExporter) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	return errors.New("receiver is away")
}
func (brokenExporter) Shutdown(context.Context) error { return nil }

func TestDroppedSpansAreCounted(t *testing.T) {
	tracing := openWith(brokenExporter{}, target.Target{})
	for range 10 {
		tracing.Start(entry, intended, intended, true).End(intended.Add(time.Second), outcome.OK)
	}
	_ = tracing.Close(context.Background())
	if tracing.Exported() != 0 || tracing.Dropped() != 10 {
		t.Errorf("%d exported, %d dropped", tracing.Exported(), tracing.Dropped())
	}
}

// Sampling depends only on the seed, the trial and the journey's number, and has the requested ratio. A greater ratio
// includes all journeys of a smaller one. Different trials or seeds draw independently.
func TestSample(t *testing.T) {
	const journeys = 20_000
	small, same, large := Sample(1, "run/1", journeys, 0.2), Sample(1, "run/1", journeys, 0.2), Sample(1, "run/1", journeys, 0.5)
	others := [][]bool{Sample(2, "run/1", journeys, 0.2), Sample(1, "run/2", journeys, 0.2)}
	count, both := 0, make([]int, len(others))
	for seq := range journeys {
		if small[seq] != same[seq] {
			t.Fatal("one seed gave two decisions")
		}
		if small[seq] && !large[seq] {
			t.Fatal("a greater ratio dropped a journey")
		}
		if small[seq] {
			count++
		}
		for which, other := range others {
			if small[seq] && other[seq] {
				both[which]++
			}
		}
	}
	if got := float64(count) / journeys; math.Abs(got-0.2) > 0.015 {
		t.Errorf("%.4f of the journeys are sampled", got)
	}
	for which, common := range both {
		if got := float64(common) / journeys; math.Abs(got-0.2*0.2) > 0.01 {
			t.Errorf("%.4f of the journeys are sampled here and in draw %d, which are not independent then", got, which)
		}
	}
	for _, extreme := range []struct {
		ratio float64
		want  bool
	}{{0, false}, {1, true}} {
		for seq, sampled := range Sample(1, "run/1", 1000, extreme.ratio) {
			if sampled != extreme.want {
				t.Fatalf("ratio %v: journey %d is sampled: %v", extreme.ratio, seq, sampled)
			}
		}
	}
}
