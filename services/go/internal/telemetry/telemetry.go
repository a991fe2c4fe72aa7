// Package telemetry sends the spans of sampled requests to a collector, with OpenTelemetry's SDK.
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

// flushLimit is the time limit of the last export at the end of the process.
const flushLimit = 3 * time.Second

// Tracing makes spans, and accounts for them.
type Tracing struct {
	trace.TracerProvider
	account *account
	end     func(context.Context) error
}

// Open prepares to send spans to the collector in the environment; without a collector there are no spans.
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

// Close sends the remaining spans, and writes the account with the cost of each kind of span.
func (t *Tracing) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), flushLimit)
	defer cancel()
	_ = t.end(ctx)
	t.account.lost.Store(t.account.recorded.Load() - t.account.exported.Load())
	if t.account.path != "" {
		t.account.write(costs())
	}
}

// account is a process's account of its spans: how many it recorded, exported and lost.
type account struct {
	path                     string
	recorded, exported, lost atomic.Int64
}

// write replaces the file atomically; costs are empty until they are measured.
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

// counted counts ended spans.
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

// accounted counts exported and lost spans.
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
