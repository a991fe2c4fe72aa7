// Package telemetry opens the root span of sampled journeys and carries the trace context to the shop.
//
// It records spans itself, with OpenTelemetry's types and conventions, because the SDK's spans would cost the load
// several times as much. OpenTelemetry's exporter exports them.
package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"hopwise/load/internal/target"
)

const (
	serviceName   = "client"
	exportTimeout = 10 * time.Second
)

// Exports are retried within their time limit, so that a receiver that restarts still gets its spans.
var retry = otlptracegrpc.RetryConfig{
	Enabled: true, InitialInterval: 250 * time.Millisecond, MaxInterval: 2 * time.Second, MaxElapsedTime: exportTimeout,
}

var scope = instrumentation.Scope{Name: "hopwise/load"}

// Tracing records sampled journeys' spans for the target's OTLP receiver; with nil, all trace contexts are unsampled.
type Tracing struct {
	recorder  *recorder
	resource  *resource.Resource
	target    target.Target
	namespace string // prefix of the attributes' names
}

func Open(ctx context.Context, t target.Target) (*Tracing, error) {
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(t.OTLP), otlptracegrpc.WithInsecure(),
		otlptracegrpc.WithTimeout(exportTimeout), otlptracegrpc.WithRetry(retry))
	if err != nil {
		return nil, err
	}
	return openWith(exporter, t), nil
}

func openWith(exporter sdktrace.SpanExporter, t target.Target) *Tracing {
	namespace := "shop."
	if t.Steps != "" {
		namespace = "load." // traces with shop.journey follow the shop's conventions
	}
	return &Tracing{
		recorder: newRecorder(exporter),
		resource: resource.NewSchemaless(
			attribute.String("service.name", serviceName),
			attribute.String(namespace+"topology", t.Topology),
			attribute.String(namespace+"trial", t.Trial),
		),
		target:    t,
		namespace: namespace,
	}
}

// Close sends the remaining spans before the context ends.
func (t *Tracing) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.recorder.close(ctx)
}

// Exported returns the number of spans that the receiver accepted.
func (t *Tracing) Exported() int64 {
	if t == nil {
		return 0
	}
	return t.recorder.exported.Load()
}

// Dropped returns the number of spans that ended but did not reach the receiver; it is final once Close has returned.
func (t *Tracing) Dropped() int64 {
	if t == nil {
		return 0
	}
	return t.recorder.ended.Load() - t.recorder.exported.Load()
}
