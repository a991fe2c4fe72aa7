package guard

import (
	"context"
	"runtime"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// early is how long a thread may take to wake.
const early = 150 * time.Microsecond

// Pause waits for a time, and records on the current span how long it took.
//
// A timer of the runtime counts whole milliseconds on an idle process. So a thread sleeps until shortly before the end,
// then yields in a loop for the rest.
func Pause(ctx context.Context, delay time.Duration) {
	began := time.Now()
	if sleep := delay - early; sleep > 0 {
		left := syscall.NsecToTimespec(int64(sleep))
		for syscall.Nanosleep(&left, &left) == syscall.EINTR {
		}
	}
	for time.Since(began) < delay {
		runtime.Gosched()
	}
	trace.SpanFromContext(ctx).SetAttributes(
		attribute.Float64("shop.injected_delay_ms", milliseconds(delay)),
		attribute.Float64("shop.injected_delay_took_ms", milliseconds(time.Since(began))))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
