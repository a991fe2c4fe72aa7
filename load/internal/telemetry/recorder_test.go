package telemetry

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"hopwise/load/internal/outcome"
	"hopwise/load/internal/target"
)

// moody accepts spans only while it is available.
type moody struct {
	away   atomic.Bool
	failed atomic.Int64  // exports
	tries  chan struct{} // gets a signal from each export
	hold   chan struct{} // exports wait until it is closed; nil to export at once
}

func (m *moody) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	select {
	case m.tries <- struct{}{}:
	default:
	}
	if m.hold != nil {
		<-m.hold
	}
	if m.away.Load() {
		m.failed.Add(1)
		return errors.New("away")
	}
	return nil
}

func (*moody) Shutdown(context.Context) error { return nil }

// tracedBy returns a tracing that exports to a receiver, and a function that makes spans.
func tracedBy(m *moody) (*Tracing, func(spans int)) {
	m.tries = make(chan struct{}, 1)
	tracing := openWith(m, target.Target{})
	return tracing, func(spans int) {
		for range spans {
			tracing.Start(entry, intended, intended, true).End(intended.Add(time.Second), outcome.OK)
		}
	}
}

func closeTracing(t *testing.T, tracing *Tracing, exported, dropped int64) {
	t.Helper()
	if err := tracing.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if tracing.Exported() != exported || tracing.Dropped() != dropped {
		t.Errorf("%d exported, %d dropped; expected %d and %d", tracing.Exported(), tracing.Dropped(), exported, dropped)
	}
}

// Encoding and sending would take CPU time from the load, so they wait for its end.
func TestSpansWaitForTheEndOfTheLoad(t *testing.T) {
	receiver := &moody{}
	tracing, spans := tracedBy(receiver)
	const half = maxBatches / 2 * batchSpans
	spans(half)
	select {
	case <-receiver.tries:
		t.Error("spans were sent during the load")
	default:
	}
	closeTracing(t, tracing, half, 0)
}

func TestSpansBeyondTheLimitAreDroppedAndCounted(t *testing.T) {
	receiver := &moody{hold: make(chan struct{})}
	tracing, spans := tracedBy(receiver)
	const room, more = maxBatches * batchSpans, 700
	spans(room + more)
	<-receiver.tries // an export has started meanwhile, and hangs
	close(receiver.hold)
	closeTracing(t, tracing, room, more)
}

func TestSpansAreKeptForARecoveringReceiver(t *testing.T) {
	receiver := &moody{}
	receiver.away.Store(true)
	tracing, spans := tracedBy(receiver)
	const many = (maxBatches/2 + 1) * batchSpans
	spans(many)
	<-receiver.tries
	receiver.away.Store(false)
	closeTracing(t, tracing, many, 0)
}

// A full recorder sends spans again once the receiver is back, although it drops the spans that end.
func TestAFullRecorderIsRelieved(t *testing.T) {
	receiver := &moody{hold: make(chan struct{})}
	receiver.away.Store(true)
	tracing, spans := tracedBy(receiver)
	const room, pressing = maxBatches * batchSpans, (maxBatches/2 + 1) * batchSpans
	wait := func(what string, done func() bool) {
		for end := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}
	spans(pressing)
	<-receiver.tries // has begun to fail, so that the next batches signal another export
	spans(room - pressing)
	close(receiver.hold)
	wait("there was no other export", func() bool { return receiver.failed.Load() == 2 })
	receiver.away.Store(false)
	spans(1)
	wait("no export followed", func() bool { return tracing.Exported() > 0 })
	closeTracing(t, tracing, room, 1)
}

func TestSpansAreDroppedWithoutAReceiver(t *testing.T) {
	receiver := &moody{}
	receiver.away.Store(true)
	tracing, spans := tracedBy(receiver)
	spans(3 * batchSpans)
	closeTracing(t, tracing, 0, 3*batchSpans)
}

func TestASpanCostsTime(t *testing.T) {
	for _, kind := range []string{"CLIENT", "INTERNAL"} {
		if cost := SpanCosts()[kind]; cost <= 0 || cost > 1e6 {
			t.Errorf("a span of kind %s costs %v ns", kind, cost)
		}
	}
}
