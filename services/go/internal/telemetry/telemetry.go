// Package telemetry sends the spans of sampled requests to a collector, by OpenTelemetry's stock SDK.
package telemetry

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"hopwise/services/internal/config"
)

// flushLimit is what the collector gets at the end of the process.
const flushLimit = 3 * time.Second

// Tracing makes spans, and accounts for them.
type Tracing struct {
	trace.TracerProvider
	account *account
	end     func(context.Context) error
}

// Open prepares to send spans to where the environment says; without a collector nothing is traced.
func Open(ctx context.Context, c config.Config) (*Tracing, error) {
	if c.Collector == "" {
		return &Tracing{noop.NewTracerProvider(), new(account), func(context.Context) error { return nil }}, nil
	}
	exporter, err := otlptracegrpc.New(ctx)
	if err != nil {
		return nil, err
	}
	attributes := []attribute.KeyValue{
		attribute.String("service.name", c.Component),
		attribute.String("shop.topology", c.Topology),
		attribute.String("shop.trial", c.Trial),
	}
	if c.Instance != "" {
		attributes = append(attributes, attribute.String("service.instance.id", c.Instance))
	}
	kept := &account{path: c.TelemetryFile}
	provider := newProvider(accounted{exporter, kept}, kept, resource.NewSchemaless(attributes...))
	return &Tracing{provider, kept, provider.Shutdown}, nil
}

func newProvider(exporter sdktrace.SpanExporter, kept *account, of *resource.Resource) *sdktrace.TracerProvider {
	return sdktrace.NewTracerProvider(
		// The sampling decision is the caller's.
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.NeverSample())),
		sdktrace.WithSpanProcessor(counted{sdktrace.NewBatchSpanProcessor(exporter), kept}),
		sdktrace.WithResource(of))
}

// Close sends what is left, and writes the account with what a span of each kind costs.
func (t *Tracing) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), flushLimit)
	defer cancel()
	_ = t.end(ctx)
	t.account.lost.Store(t.account.recorded.Load() - t.account.exported.Load())
	if t.account.path != "" {
		t.account.write(costs())
	}
}

// account is what a process says of its own spans: how many it recorded, and what became of them.
type account struct {
	path                     string
	recorded, exported, lost atomic.Int64
}

// write replaces the file in one step; it is empty of costs as long as nobody has measured them.
func (a *account) write(costs map[string]int64) {
	if a.path == "" {
		return
	}
	document, err := json.Marshal(map[string]any{
		"recorded": a.recorded.Load(), "exported": a.exported.Load(), "lost": a.lost.Load(), "cost_ns": costs,
	})
	scratch := a.path + ".partial"
	if err == nil && os.MkdirAll(filepath.Dir(a.path), 0o755) == nil && os.WriteFile(scratch, document, 0o600) == nil {
		_ = os.Rename(scratch, a.path)
	}
}

// counted counts the spans that end.
type counted struct {
	sdktrace.SpanProcessor
	account *account
}

func (c counted) OnEnd(span sdktrace.ReadOnlySpan) {
	if span.SpanContext().IsSampled() {
		c.account.recorded.Add(1)
	}
	c.SpanProcessor.OnEnd(span)
}

// accounted counts what becomes of spans.
type accounted struct {
	sdktrace.SpanExporter
	account *account
}

func (a accounted) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := a.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		a.account.exported.Add(int64(len(spans)))
	} else {
		a.account.lost.Add(int64(len(spans)))
	}
	a.account.write(map[string]int64{})
	return err
}
