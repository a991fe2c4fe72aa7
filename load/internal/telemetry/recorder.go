package telemetry

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	batchSpans = 512
	maxBatches = 256 // about 130,000 spans, or 40 MB
	// afterFailure is the pause after a failed export, so that failures that come at once take little CPU time.
	afterFailure = 250 * time.Millisecond
)

// recorder keeps spans until after the load, because encoding and sending them would take CPU time from the load. Only
// a recorder that is more than half full sends spans earlier, and a full recorder drops new spans.
type recorder struct {
	exporter sdktrace.SpanExporter
	ended    atomic.Int64
	exported atomic.Int64
	pressed  chan struct{} // signals that the recorder is more than half full
	closing  chan struct{}
	relieved chan struct{} // closed once relieve has ended, and only close still sends

	mu      sync.Mutex
	open    []sdktrace.ReadOnlySpan
	batches [][]sdktrace.ReadOnlySpan // full batches, oldest first
}

func newRecorder(exporter sdktrace.SpanExporter) *recorder {
	r := &recorder{exporter: exporter, pressed: make(chan struct{}, 1), closing: make(chan struct{}), relieved: make(chan struct{})}
	go r.relieve()
	return r
}

// add keeps a span that has ended, if there is room.
func (r *recorder) add(s *span) {
	r.ended.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.batches) == maxBatches {
		r.press() // after a failed export, no batch that gets full could do this
		return
	}
	if r.open == nil {
		r.open = make([]sdktrace.ReadOnlySpan, 0, batchSpans)
	}
	if r.open = append(r.open, s); len(r.open) < batchSpans {
		return
	}
	r.batches, r.open = append(r.batches, r.open), nil
	if len(r.batches) > maxBatches/2 {
		r.press()
	}
}

func (r *recorder) press() {
	select {
	case r.pressed <- struct{}{}:
	default:
	}
}

// relieve sends the oldest batches during the load while the recorder is more than half full. A batch that the exporter
// could not send, despite retries within its time limit, stays until the next batch is full. Without room for another
// batch, it stays until the next span. Otherwise it stays until the end.
func (r *recorder) relieve() {
	defer close(r.relieved)
	for {
		select {
		case <-r.closing:
			return
		case <-r.pressed:
		}
		for batch := r.oldest(maxBatches / 2); batch != nil; batch = r.oldest(maxBatches / 2) {
			if !r.send(context.Background(), batch) {
				r.pause()
				break
			}
			r.forgetOldest()
		}
	}
}

func (r *recorder) pause() {
	select {
	case <-r.closing:
	case <-time.After(afterFailure):
	}
}

// oldest returns the batch to send next; nil unless more batches than the given number are waiting.
func (r *recorder) oldest(beyond int) []sdktrace.ReadOnlySpan {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.batches) <= beyond {
		return nil
	}
	return r.batches[0]
}

func (r *recorder) forgetOldest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches = r.batches[1:]
}

// send sends a batch, and tells whether the receiver has accepted it.
func (r *recorder) send(ctx context.Context, batch []sdktrace.ReadOnlySpan) bool {
	if err := r.exporter.ExportSpans(ctx, batch); err != nil {
		otel.Handle(err)
		return false
	}
	r.exported.Add(int64(len(batch)))
	return true
}

// close sends the remaining spans until the context ends; spans that have not been sent by then are lost.
func (r *recorder) close(ctx context.Context) error {
	close(r.closing)
	select {
	case <-r.relieved:
	case <-ctx.Done():
		return ctx.Err()
	}
	r.mu.Lock()
	if len(r.open) > 0 {
		r.batches, r.open = append(r.batches, r.open), nil
	}
	r.mu.Unlock()
	for batch := r.oldest(0); batch != nil && ctx.Err() == nil; batch = r.oldest(0) {
		r.send(ctx, batch)
		r.forgetOldest()
	}
	return r.exporter.Shutdown(ctx)
}
