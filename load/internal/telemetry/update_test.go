package telemetry

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"hopwise/load/internal/target"
)

// The root of an update has the ids that the shop chose, no parent, and lasts from the change to the arrival.
func TestTheRootOfAnUpdate(t *testing.T) {
	tracing := openWith(nowhere{}, target.Target{})
	changed := time.Unix(1_700_000_000, 5)
	tracing.Update("00-0123456789abcdef0123456789abcdef-0123456789abcdef-01", changed, changed.Add(time.Millisecond))
	for _, nothing := range []string{"", "00-1-2-01", "00-0123456789abcdef0123456789abcdeg-0123456789abcdef-01", "a-b-c"} {
		tracing.Update(nothing, changed, changed)
	}
	(*Tracing)(nil).Update("00-0123456789abcdef0123456789abcdef-0123456789abcdef-01", changed, changed)
	if len(tracing.recorder.open) != 1 {
		t.Fatalf("%d spans, 1 expected", len(tracing.recorder.open))
	}
	root := tracing.recorder.open[0]
	if got := root.SpanContext(); got.TraceID().String() != "0123456789abcdef0123456789abcdef" || got.SpanID().String() != "0123456789abcdef" {
		t.Errorf("ids are %v, %v", got.TraceID(), got.SpanID())
	}
	if root.Parent().IsValid() || root.SpanKind() != trace.SpanKindConsumer || root.EndTime().Sub(root.StartTime()) != time.Millisecond {
		t.Errorf("parent %v, kind %v, %v", root.Parent(), root.SpanKind(), root.EndTime().Sub(root.StartTime()))
	}
}
