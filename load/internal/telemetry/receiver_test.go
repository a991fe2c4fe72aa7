package telemetry

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"hopwise/load/internal/outcome"
	"hopwise/load/internal/target"
)

// receiver is an OTLP receiver that records the names of spans by service.
type receiver struct {
	collector.UnimplementedTraceServiceServer
	mu    sync.Mutex
	names map[string]int
}

func (r *receiver) Export(_ context.Context, q *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range q.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				r.names[span.Name]++
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// All spans have reached an OTLP receiver over gRPC once the tracing is closed.
func TestSpansReachAReceiver(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, kept := grpc.NewServer(), &receiver{names: map[string]int{}}
	collector.RegisterTraceServiceServer(server, kept)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()

	tracing, err := Open(context.Background(), target.Target{OTLP: listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	const journeys = 2000
	for range journeys {
		j := tracing.Start(entry, intended, intended.Add(time.Microsecond), true)
		j.Call("GET", "/v1/orders/{id}", "/v1/orders/1").End(200, nil)
		j.End(intended.Add(time.Millisecond), outcome.OK)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := tracing.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if tracing.Exported() != 3*journeys || tracing.Dropped() != 0 {
		t.Errorf("%d exported, %d dropped", tracing.Exported(), tracing.Dropped())
	}
	for _, name := range []string{"order_history", "start_lag", "GET /v1/orders/{id}"} {
		if kept.names[name] != journeys {
			t.Errorf("the receiver got %d of %q, %d expected", kept.names[name], name, journeys)
		}
	}
}
