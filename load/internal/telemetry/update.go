package telemetry

import (
	"encoding/hex"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// updateSpan is the name of the root span of an update's trace, and its kind of journey.
const updateSpan = "update"

// Update records the root span of an update's trace, which the shop has begun: from the order's change to the arrival.
// The traceparent (W3C) has the trace's and the root's id; nothing is recorded if it is empty or invalid.
func (t *Tracing) Update(traceparent string, changed, arrived time.Time) {
	if t == nil {
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
