package watch

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// A shop sends a keep-alive on a stream every 15 s; a stream that is silent for three times as long is dead.
	maxSilence  = 45 * time.Second
	reopenLimit = 10 * time.Second // to reopen a stream
	pollLimit   = 5 * time.Second  // for one poll
	// Pauses before a stream is reopened are random, so that watchers do not all return to a recovered shop at once.
	firstPause = time.Second
	laterPause = 2 * time.Second
)

type watcher struct {
	user   int64
	line   line
	last   int64 // newest position that the watcher got
	report func(Update)
	count  func(func(*Figures))
}

// connect opens a stream and waits within the limit for its first message: the position after which updates follow.
func (w *watcher) connect(ctx context.Context, after *int64, limit time.Duration) (stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	watchdog := time.AfterFunc(limit, func() { cancel(newEnd(silent, "nothing came for too long")) })
	var open atomic.Bool
	opened, err := w.line.open(ctx, after, func() {
		if open.Load() {
			watchdog.Reset(maxSilence)
		}
	})
	next := func() (m message, err error) {
		if m, err = opened(); err != nil {
			watchdog.Stop()
			err = because(ctx, err)
			cancel(nil)
		}
		return m, err
	}
	if err != nil {
		watchdog.Stop()
		err = because(ctx, err)
		cancel(nil)
		return nil, err
	}
	first, err := next()
	if err != nil {
		return nil, err
	}
	if after == nil {
		w.last = first.position
	}
	open.Store(true)
	watchdog.Reset(maxSilence)
	return next, nil
}

// because returns why the context ended, if it has ended; otherwise the error.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// follow reads a stream until the context ends; whenever the stream ends earlier, it reopens it from the last position.
func (w *watcher) follow(ctx context.Context, next stream) {
	for err := w.hear(next); ctx.Err() == nil; err = w.hear(next) {
		lost := time.Now()
		for pause := firstPause; err != nil && ctx.Err() == nil; pause = laterPause {
			cause := causeOf(err)
			w.count(func(f *Figures) { f.Reconnects[cause]++ })
			if cause == gone {
				_ = w.ask(ctx) // after a failure, the stream is refused again
			}
			sleep(ctx, rand.N(pause))
			next, err = w.connect(ctx, &w.last, reopenLimit)
		}
		w.count(func(f *Figures) { f.LongestReconnectS = max(f.LongestReconnectS, time.Since(lost).Seconds()) })
		if err != nil {
			return
		}
	}
}

func (w *watcher) hear(next stream) error {
	for {
		m, err := next()
		if err != nil {
			return err
		}
		if m.news != nil {
			w.record(*m.news, time.Now())
		}
	}
}

// begin reads the list of updates after which polls continue.
func (w *watcher) begin(ctx context.Context, limit time.Duration) error {
	limited, cancel := context.WithTimeoutCause(ctx, limit, newEnd(silent, "nothing came for too long"))
	defer cancel()
	all, err := w.line.list(limited)
	if err != nil {
		return because(limited, err)
	}
	for _, n := range all {
		w.last = max(w.last, n.Position)
	}
	return nil
}

// poll requests the list after a delay of offset, and then once per interval, until the context ends.
func (w *watcher) poll(ctx context.Context, offset, interval time.Duration) {
	sleep(ctx, offset)
	due := time.NewTicker(interval)
	defer due.Stop()
	for ctx.Err() == nil {
		err := w.ask(ctx)
		if ctx.Err() == nil {
			w.count(func(f *Figures) {
				f.Polls++
				if err != nil {
					f.FailedPolls[causeOf(err)]++
				}
			})
		}
		select {
		case <-due.C:
		case <-ctx.Done():
		}
	}
}

// ask lists the customer's updates, and records the new ones, oldest first.
func (w *watcher) ask(ctx context.Context) error {
	limited, cancel := context.WithTimeoutCause(ctx, pollLimit, newEnd(silent, "no answer within %v", pollLimit))
	defer cancel()
	all, err := w.line.list(limited)
	if err != nil {
		return because(limited, err)
	}
	arrived := time.Now()
	for _, n := range slices.Backward(all) {
		if n.Position > w.last {
			w.record(n, arrived)
		}
	}
	return nil
}

// record records an update; positions between the previous update and this update count as missed.
func (w *watcher) record(n News, arrived time.Time) {
	update := Update{
		UserID: w.user, Position: n.Position, OrderID: n.OrderID, Status: n.Status,
		CreatedNs: n.Created.UnixNano(), ArrivedNs: arrived.UnixNano(), Again: n.Position <= w.last, Traceparent: n.Traceparent,
	}
	missed := max(n.Position-w.last-1, 0)
	w.last = max(w.last, n.Position)
	w.count(func(f *Figures) {
		f.Updates++
		f.Missed += missed
		if update.Again {
			f.Repeated++
		}
	})
	w.report(update)
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
