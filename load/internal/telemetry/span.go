package telemetry

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// span is the record of a piece of work while it runs: identifiers, times, and the inputs of its attributes, which are
// not made before the export. If they were made earlier, attributes would be half of the memory that is allocated and
// garbage-collected during the load. A span is passed to the recorder once it has ended, and is not changed afterwards.
type span struct {
	sdktrace.ReadOnlySpan // nil; embedded only for the interface's private method

	of         *Tracing
	name       string
	kind       trace.SpanKind
	traceID    trace.TraceID
	id, parent trace.SpanID
	start, end time.Time
	describe   func(*span) []attribute.KeyValue // nil for no attributes
	texts      [3]string                        // read by describe, like number
	number     int64
	failed     bool
	failure    string // details of the failure, if any
}

var _ sdktrace.ReadOnlySpan = (*span)(nil)

func (s *span) Name() string                   { return s.name }
func (s *span) SpanContext() trace.SpanContext { return sampledContext(s.traceID, s.id) }
func (s *span) SpanKind() trace.SpanKind       { return s.kind }
func (s *span) StartTime() time.Time           { return s.start }
func (s *span) EndTime() time.Time             { return s.end }
func (s *span) Links() []sdktrace.Link         { return nil }
func (s *span) Events() []sdktrace.Event       { return nil }
func (s *span) Resource() *resource.Resource   { return s.of.resource }
func (s *span) DroppedAttributes() int         { return 0 }
func (s *span) DroppedLinks() int              { return 0 }
func (s *span) DroppedEvents() int             { return 0 }
func (s *span) ChildSpanCount() int            { return 0 }

func (s *span) Attributes() []attribute.KeyValue {
	if s.describe == nil {
		return nil
	}
	return s.describe(s)
}

func (s *span) Status() sdktrace.Status {
	if !s.failed {
		return sdktrace.Status{}
	}
	return sdktrace.Status{Code: codes.Error, Description: s.failure}
}

func (s *span) Parent() trace.SpanContext {
	if !s.parent.IsValid() {
		return trace.SpanContext{}
	}
	return sampledContext(s.traceID, s.parent)
}

func (s *span) InstrumentationScope() instrumentation.Scope { return scope }

func (s *span) InstrumentationLibrary() instrumentation.Library { return scope } //nolint:staticcheck // of the interface

func (s *span) below(name string, kind trace.SpanKind, start time.Time) *span {
	return &span{of: s.of, name: name, kind: kind, traceID: s.traceID, id: randomSpanID(), parent: s.id, start: start}
}

func (s *span) within(name string, from, to time.Time) {
	s.below(name, trace.SpanKindInternal, from).ended(to)
}

// ended passes the span to the recorder; the zero time means now.
func (s *span) ended(at time.Time) {
	if at.IsZero() {
		at = s.start.Add(time.Since(s.start)) // the wall clock may have been adjusted meanwhile
	}
	s.end = at
	s.of.recorder.add(s)
}

// fail records that the work failed, with a description.
func (s *span) fail(description string) { s.failed, s.failure = true, description }

// The functions that describe a span; each comment says what the span's texts and number are.

// ofJourney describes the root of a journey: channel and outcome, and the journey's number on the tape.
func ofJourney(s *span) []attribute.KeyValue {
	of := s.of.namespace
	return []attribute.KeyValue{
		attribute.String(of+"journey", s.name),
		attribute.String(of+"channel", s.texts[0]),
		attribute.String(of+"topology", s.of.target.Topology),
		attribute.String(of+"trial", s.of.target.Trial),
		attribute.Int64(of+"seq", s.number),
		attribute.String(of+"outcome", s.texts[1]),
	}
}

func ofUpdate(s *span) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("shop.journey", s.name),
		attribute.String("shop.topology", s.of.target.Topology),
		attribute.String("shop.trial", s.of.target.Trial),
		attribute.String("messaging.system", "postgresql"),
		attribute.String("messaging.operation.type", "receive"),
	}
}

// ofRequest describes a request over HTTP: method, path and route, and the status of the answer, 0 if there was none.
func ofRequest(s *span) []attribute.KeyValue {
	attributes := append(make([]attribute.KeyValue, 0, 5),
		attribute.String("http.request.method", s.texts[0]),
		attribute.String("url.path", s.texts[1]),
		attribute.String("url.template", s.texts[2]),
	)
	if s.number != 0 {
		attributes = append(attributes, attribute.Int64("http.response.status_code", s.number))
	}
	return append(attributes, s.errorType()...)
}

// ofRPC describes an RPC by its system and its name; the span's number is the RPC's status.
func ofRPC(s *span) []attribute.KeyValue {
	service, method, _ := strings.Cut(s.name, "/")
	return append([]attribute.KeyValue{
		attribute.String("rpc.system", s.texts[0]),
		attribute.String("rpc.service", service),
		attribute.String("rpc.method", method),
		attribute.Int64("rpc.grpc.status_code", s.number),
	}, s.errorType()...)
}

// ofThrift describes a call over framed Thrift by its service and its method.
func ofThrift(s *span) []attribute.KeyValue {
	return append([]attribute.KeyValue{
		attribute.String("rpc.system.name", "thrift"),
		attribute.String("rpc.service", s.texts[0]),
		attribute.String("rpc.method", s.texts[1]),
	}, s.errorType()...)
}

func (s *span) errorType() []attribute.KeyValue {
	if s.failure == "" {
		return nil
	}
	return []attribute.KeyValue{attribute.String("error.type", s.failure)}
}

func sampledContext(traceID trace.TraceID, id trace.SpanID) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: id, TraceFlags: trace.FlagsSampled})
}
