// Package telemetry opens the root span of sampled journeys and carries the trace context to the shop.
package telemetry

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"hopwise/load/internal/target"
)

const (
	serviceName   = "client"
	queueSpans    = 1 << 17 // several minutes of a busy run, so that a slow receiver drops nothing
	batchSpans    = 512
	batchInterval = time.Second
	exportTimeout = 10 * time.Second
)

// Tracing sends the spans of sampled journeys to the target's OTLP receiver.
//
// The zero value and nil trace nothing: journeys then carry an unsampled trace context.
type Tracing struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	target   target.Target
	ended    atomic.Int64
	exported atomic.Int64
}

// Open prepares to send spans to the target's receiver.
func Open(ctx context.Context, t target.Target) (*Tracing, error) {
	exporter, err := otlptracegrpc.New(ctx,
		otlptracegrpc.WithEndpoint(t.OTLP), otlptracegrpc.WithInsecure(), otlptracegrpc.WithTimeout(exportTimeout))
	if err != nil {
		return nil, err
	}
	return openWith(exporter, t), nil
}

func openWith(exporter sdktrace.SpanExporter, t target.Target) *Tracing {
	tracing := &Tracing{target: t}
	tracing.provider = sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.AlwaysSample()), // the decision is taken before a span object exists
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", serviceName),
			attribute.String("shop.topology", t.Topology),
			attribute.String("shop.trial", t.Trial),
		)),
		sdktrace.WithSpanProcessor(endCounter{&tracing.ended}),
		sdktrace.WithBatcher(countingExporter{exporter, &tracing.exported},
			sdktrace.WithMaxQueueSize(queueSpans), sdktrace.WithMaxExportBatchSize(batchSpans),
			sdktrace.WithBatchTimeout(batchInterval), sdktrace.WithExportTimeout(exportTimeout)),
	)
	tracing.tracer = tracing.provider.Tracer("hopwise/load")
	return tracing
}

// Close sends what is queued, within the time of the context.
func (t *Tracing) Close(ctx context.Context) error {
	if t == nil || t.provider == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// Exported is the number of spans that the receiver took.
func (t *Tracing) Exported() int64 {
	if t == nil {
		return 0
	}
	return t.exported.Load()
}

// Dropped is the number of spans that ended and did not reach the receiver; final once Close has returned.
func (t *Tracing) Dropped() int64 {
	if t == nil {
		return 0
	}
	return t.ended.Load() - t.exported.Load()
}

// endCounter counts spans as they end, before any queue can drop them.
type endCounter struct{ count *atomic.Int64 }

func (endCounter) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (c endCounter) OnEnd(sdktrace.ReadOnlySpan)                   { c.count.Add(1) }
func (endCounter) Shutdown(context.Context) error                  { return nil }
func (endCounter) ForceFlush(context.Context) error                { return nil }

type countingExporter struct {
	sdktrace.SpanExporter
	count *atomic.Int64
}

func (e countingExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		e.count.Add(int64(len(spans)))
	}
	return err
}
