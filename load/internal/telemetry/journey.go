package telemetry

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/status"

	"hopwise/load/internal/outcome"
)

type Journey struct {
	root    *span // nil if not sampled
	traceID trace.TraceID
}

// Subject describes the journey that a trace belongs to.
type Subject struct {
	Journey, Channel string
	Seq              int64 // on the tape
}

// Start opens the trace of a journey. The root begins at the intended arrival, and its child start_lag ends at the
// start.
func (t *Tracing) Start(s Subject, intended, started time.Time, sampled bool) *Journey {
	if t == nil || !sampled {
		return Untraced()
	}
	root := &span{
		of: t, name: s.Journey, kind: trace.SpanKindInternal, traceID: randomTraceID(), id: randomSpanID(), start: intended,
		describe: ofJourney, texts: [3]string{s.Channel}, number: s.Seq,
	}
	if started.After(intended) {
		root.within("start_lag", intended, started)
	}
	return &Journey{root: root, traceID: root.traceID}
}

func Untraced() *Journey { return &Journey{traceID: randomTraceID()} }

// Within adds a span for a part of the journey's time outside of requests: Handshake or Think.
func (j *Journey) Within(name string, from, to time.Time) {
	if j.root != nil {
		j.root.within(name, from, to)
	}
}

func (j *Journey) TraceID() string { return j.traceID.String() }

// End closes the trace with the journey's outcome.
func (j *Journey) End(ended time.Time, class outcome.Class) {
	if j.root == nil {
		return
	}
	j.root.texts[1] = string(class)
	if class != outcome.OK {
		j.root.fail(string(class))
	}
	j.root.ended(ended)
}

// Call is one request of a journey.
type Call struct {
	span    *span // nil if not sampled
	traceID trace.TraceID
	ended   time.Time // zero if the call ends when its span is closed
}

// Names of spans for the times before a request has reached the edge, and after its answer has left it.
const (
	Handshake = "handshake" // wait for a connection to open
	Waiting   = "waiting"   // wait for a connection that another request used
	LinkUp    = "link_up"   // from the request's first byte until its last has crossed the customer's link
	LinkDown  = "link_down" // while the answer's last byte crosses the customer's link
)

const Think = "think"

// Call opens the CLIENT span of a request; route is the path without the identifiers in it.
func (j *Journey) Call(method, route, path string) Call {
	if j.root == nil {
		return Call{traceID: j.traceID}
	}
	call := j.root.below(method+" "+route, trace.SpanKindClient, time.Now())
	call.describe, call.texts = ofRequest, [3]string{method, path, route}
	return Call{span: call, traceID: j.traceID}
}

// OpenTelemetry's names for RPC systems; gRPC-Web counts as gRPC, because only its frames differ.
const (
	GRPC    = "grpc"
	Connect = "connect_rpc"
)

// RPC opens the CLIENT span of an RPC; method is its full name: "/shop.order.v1.OrderService/GetOrder".
func (j *Journey) RPC(system, method string) Call {
	if j.root == nil {
		return Call{traceID: j.traceID}
	}
	call := j.root.below(strings.TrimPrefix(method, "/"), trace.SpanKindClient, time.Now())
	call.describe, call.texts = ofRPC, [3]string{system}
	return Call{span: call, traceID: j.traceID}
}

// Thrift opens the CLIENT span of a call over framed Thrift; service is a name such as "product".
func (j *Journey) Thrift(service, method string) Call {
	if j.root == nil {
		return Call{traceID: j.traceID}
	}
	name := strings.ToUpper(service[:1]) + service[1:] + "Service"
	call := j.root.below(name+"/"+method, trace.SpanKindClient, time.Now())
	call.describe, call.texts = ofThrift, [3]string{name, method}
	return Call{span: call, traceID: j.traceID}
}

// Within adds a span for a part of the request's time.
func (c Call) Within(name string, from, to time.Time) {
	if c.span != nil {
		c.span.within(name, from, to)
	}
}

// EndedAt returns the call with the time of its end, which may be some time before its span is closed.
func (c Call) EndedAt(ended time.Time) Call {
	c.ended = ended
	return c
}

// Traceparent returns the W3C header that carries the call's context.
func (c Call) Traceparent() string {
	if c.span == nil {
		return traceparent(c.traceID, randomSpanID(), '0')
	}
	return traceparent(c.traceID, c.span.id, '1')
}

// traceparent is called with every request, so it avoids intermediate strings.
func traceparent(traceID trace.TraceID, spanID trace.SpanID, sampled byte) string {
	text := make([]byte, 0, len("00-")+2*len(traceID)+len("-")+2*len(spanID)+len("-00"))
	text = append(text, "00-"...)
	text = hex.AppendEncode(text, traceID[:])
	text = append(text, '-')
	text = hex.AppendEncode(text, spanID[:])
	text = append(text, '-', '0', sampled)
	return string(text)
}

// End closes the span once the body is read; status is 0 if there was no answer.
func (c Call) End(status int, err error) {
	if c.span == nil {
		return
	}
	c.span.number = int64(status)
	switch {
	case err != nil:
		c.span.fail(string(outcome.Of(err)))
	case status >= 400:
		c.span.fail("")
	}
	c.span.ended(c.ended)
}

// EndRPC closes the span once the answer or stream is read; failure is the RPC's error err with its class.
func (c Call) EndRPC(err, failure error) {
	if c.span == nil {
		return
	}
	c.span.number = int64(status.Code(err))
	if failure != nil {
		c.span.fail(string(outcome.Of(failure)))
	}
	c.span.ended(c.ended)
}

// Identifiers need to be distinct, not secret.
func randomTraceID() (id trace.TraceID) {
	binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(id[8:], rand.Uint64()|1) // all zeros would be invalid
	return id
}

func randomSpanID() (id trace.SpanID) {
	binary.NativeEndian.PutUint64(id[:], rand.Uint64()|1)
	return id
}
