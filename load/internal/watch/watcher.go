package watch

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// A shop says every 15 s that a stream is still open; one that has been silent for three times as long is dead.
	longestSilence = 45 * time.Second
	reopenLimit    = 10 * time.Second // for a stream that is opened again
	pollLimit      = 5 * time.Second  // for one poll
	// Pauses before a stream is opened again are random, so that a shop that is back is not asked by all at once.
	firstPause = time.Second
	laterPause = 2 * time.Second
)

// watcher is one customer who waits for news.
type watcher struct {
	user  int64
	line  line
	last  int64 // newest position that it was told
	told  func(Update)
	count func(func(*Figures))
}

// connect opens a stream and waits within the limit for its first message, which says behind which position it is open.
func (w *watcher) connect(ctx context.Context, after *int64, limit time.Duration) (stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	watchdog := time.AfterFunc(limit, func() { cancel(ended(silent, "nothing came for too long")) })
	var open atomic.Bool
	opened, err := w.line.open(ctx, after, func() {
		if open.Load() {
			watchdog.Reset(longestSilence)
		}
	})
	next := func() (told message, err error) {
		if told, err = opened(); err != nil {
			watchdog.Stop()
			err = because(ctx, err)
			cancel(nil)
		}
		return told, err
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
	watchdog.Reset(longestSilence)
	return next, nil
}

// because returns why the context has ended, if that is where the error comes from.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// follow reads a stream, and opens it again behind the last position whenever it ends, until the context does.
func (w *watcher) follow(ctx context.Context, next stream) {
	for err := w.hear(next); ctx.Err() == nil; err = w.hear(next) {
		lost := time.Now()
		for pause := firstPause; err != nil && ctx.Err() == nil; pause = laterPause {
			cause := causeOf(err)
			w.count(func(f *Figures) { f.Reconnects[cause]++ })
			if cause == gone {
				_ = w.ask(ctx) // if it fails, the stream is refused once more
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

// hear records a stream's news until it ends.
func (w *watcher) hear(next stream) error {
	for {
		told, err := next()
		if err != nil {
			return err
		}
		if told.news != nil {
			w.record(*told.news, time.Now())
		}
	}
}

// begin reads the list from which polls go on.
func (w *watcher) begin(ctx context.Context, limit time.Duration) error {
	limited, cancel := context.WithTimeoutCause(ctx, limit, ended(silent, "nothing came for too long"))
	defer cancel()
	told, err := w.line.list(limited)
	if err != nil {
		return because(limited, err)
	}
	for _, n := range told {
		w.last = max(w.last, n.Position)
	}
	return nil
}

// poll asks once after the offset and then every interval, until the context ends.
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

// ask lists the customer's news, and records those that are new, oldest first.
func (w *watcher) ask(ctx context.Context) error {
	limited, cancel := context.WithTimeoutCause(ctx, pollLimit, ended(silent, "no answer within %v", pollLimit))
	defer cancel()
	told, err := w.line.list(limited)
	if err != nil {
		return because(limited, err)
	}
	arrived := time.Now()
	for _, n := range slices.Backward(told) {
		if n.Position > w.last {
			w.record(n, arrived)
		}
	}
	return nil
}

// record notes an update; positions between it and the last one were missed.
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
	w.told(update)
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
