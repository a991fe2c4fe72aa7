package telemetry

import (
	"encoding/hex"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// updateSpan is the name of the root of an update's trace, and of its kind among the journeys.
const updateSpan = "update"

// Update records the root of the trace of an update of an order, which the shop has begun: from the change of the order
// until the update has arrived. The traceparent (W3C) has the trace and the span's id; if it is empty or invalid,
// nothing is recorded.
func (t *Tracing) Update(traceparent string, changed, arrived time.Time) {
	if t == nil || t.recorder == nil {
		return
	}
	parts := strings.Split(traceparent, "-")
	if len(parts) != 4 {
		return
	}
	root := &span{of: t, name: updateSpan, kind: trace.SpanKindConsumer, start: changed, describe: ofUpdate}
	if !readID(root.traceID[:], parts[1]) || !readID(root.id[:], parts[2]) {
		return
	}
	root.ended(arrived)
}

func readID(id []byte, digits string) bool {
	if len(digits) != hex.EncodedLen(len(id)) {
		return false
	}
	_, err := hex.Decode(id, []byte(digits))
	return err == nil
}
