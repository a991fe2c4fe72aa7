package telemetry

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/status"

	"hopwise/load/internal/outcome"
)

// Journey is the trace of one journey, sampled or not.
type Journey struct {
	tracing *Tracing
	root    trace.Span // nil if not sampled
	ctx     context.Context
	traceID trace.TraceID
}

// Subject is the journey that a trace is of.
type Subject struct {
	Journey, Channel string
	Seq              int64 // on the tape
}

// Start opens the trace of a journey.
//
// The root begins at the intended arrival; a child named start_lag holds the time until the generator really started.
func (t *Tracing) Start(s Subject, intended, started time.Time, sampled bool) *Journey {
	if t == nil || t.tracer == nil || !sampled {
		return Untraced()
	}
	ctx, root := t.tracer.Start(context.Background(), s.Journey,
		trace.WithNewRoot(), trace.WithTimestamp(intended), trace.WithSpanKind(trace.SpanKindInternal),
		trace.WithAttributes(
			attribute.String("shop.journey", s.Journey),
			attribute.String("shop.channel", s.Channel),
			attribute.String("shop.topology", t.target.Topology),
			attribute.String("shop.trial", t.target.Trial),
			attribute.Int64("shop.seq", s.Seq),
		))
	if started.After(intended) {
		_, lag := t.tracer.Start(ctx, "start_lag", trace.WithTimestamp(intended))
		lag.End(trace.WithTimestamp(started))
	}
	return &Journey{tracing: t, root: root, ctx: ctx, traceID: root.SpanContext().TraceID()}
}

// Untraced returns the trace of what belongs to no journey.
func Untraced() *Journey { return &Journey{traceID: randomTraceID()} }

// TraceID returns the trace's identifier, hexadecimal.
func (j *Journey) TraceID() string { return j.traceID.String() }

// End closes the trace with how the journey ended.
func (j *Journey) End(ended time.Time, class outcome.Class) {
	if j.root == nil {
		return
	}
	j.root.SetAttributes(attribute.String("shop.outcome", string(class)))
	if class != outcome.OK {
		j.root.SetStatus(codes.Error, string(class))
	}
	j.root.End(trace.WithTimestamp(ended))
}

// Call is one request of a journey.
type Call struct {
	span    trace.Span // nil if not sampled
	traceID trace.TraceID
}

// Call opens the CLIENT span of a request; route is the path without the identifiers in it.
func (j *Journey) Call(method, route, path string) Call {
	if j.root == nil {
		return Call{traceID: j.traceID}
	}
	_, span := j.tracing.tracer.Start(j.ctx, method+" "+route, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(
			attribute.String("http.request.method", method),
			attribute.String("url.path", path),
			attribute.String("url.template", route),
		))
	return Call{span: span, traceID: j.traceID}
}

// RPC opens the CLIENT span of an RPC; method is its full name: "/shop.order.v1.OrderService/GetOrder".
func (j *Journey) RPC(method string) Call {
	if j.root == nil {
		return Call{traceID: j.traceID}
	}
	full := strings.TrimPrefix(method, "/")
	service, name, _ := strings.Cut(full, "/")
	_, span := j.tracing.tracer.Start(j.ctx, full, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(
			attribute.String("rpc.system", "grpc"),
			attribute.String("rpc.service", service),
			attribute.String("rpc.method", name),
		))
	return Call{span: span, traceID: j.traceID}
}

// Traceparent returns the W3C header that carries the call's context.
func (c Call) Traceparent() string {
	if c.span == nil {
		return traceparent(c.traceID, randomSpanID(), '0')
	}
	context := c.span.SpanContext()
	return traceparent(context.TraceID(), context.SpanID(), '1')
}

// traceparent is called with every request, hence without intermediate texts.
func traceparent(traceID trace.TraceID, spanID trace.SpanID, sampled byte) string {
	text := make([]byte, 0, len("00-")+2*len(traceID)+len("-")+2*len(spanID)+len("-00"))
	text = append(text, "00-"...)
	text = hex.AppendEncode(text, traceID[:])
	text = append(text, '-')
	text = hex.AppendEncode(text, spanID[:])
	text = append(text, '-', '0', sampled)
	return string(text)
}

// End closes the span once the body is read; status is 0 if there was none.
func (c Call) End(status int, err error) {
	if c.span == nil {
		return
	}
	if status != 0 {
		c.span.SetAttributes(attribute.Int("http.response.status_code", status))
	}
	switch {
	case err != nil:
		c.span.SetAttributes(attribute.String("error.type", string(outcome.Of(err))))
		c.span.SetStatus(codes.Error, string(outcome.Of(err)))
	case status >= 400:
		c.span.SetStatus(codes.Error, "")
	}
	c.span.End()
}

// EndRPC closes the span once the answer, or the whole stream, is read; err is the RPC's own error, failure the same with
// its class.
func (c Call) EndRPC(err, failure error) {
	if c.span == nil {
		return
	}
	c.span.SetAttributes(attribute.Int("rpc.grpc.status_code", int(status.Code(err))))
	if failure != nil {
		c.span.SetAttributes(attribute.String("error.type", string(outcome.Of(failure))))
		c.span.SetStatus(codes.Error, string(outcome.Of(failure)))
	}
	c.span.End()
}

// Identifiers of unsampled traces need to be distinct, not secret.
func randomTraceID() (id trace.TraceID) {
	binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(id[8:], rand.Uint64()|1) // all zeros would be invalid
	return id
}

func randomSpanID() (id trace.SpanID) {
	binary.NativeEndian.PutUint64(id[:], rand.Uint64()|1)
	return id
}
