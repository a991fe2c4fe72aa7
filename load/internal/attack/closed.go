package attack

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"hopwise/load/internal/record"
	"hopwise/load/internal/tape"
)

// MaxVUs is the most virtual users of a closed loop.
const MaxVUs = 10_000

// Closed is a closed loop: virtual users take the journeys of the tape in its order, whatever their times, and each sends
// its next one once it has its answer and has thought about it.
//
// A slow shop gets less load that way, so latencies of a closed loop do not compare with those of an open one.
type Closed struct {
	VUs      int
	Think    time.Duration // between an answer and the same user's next journey
	Duration time.Duration // after it no journey starts
}

// Check returns an error that names the value at fault and the valid ones.
func (c Closed) Check() error {
	switch {
	case c.VUs < 1 || c.VUs > MaxVUs:
		return fmt.Errorf("vus %d is not between 1 and %d", c.VUs, MaxVUs)
	case c.Think < 0:
		return fmt.Errorf("think %v is negative", c.Think)
	case c.Duration <= 0:
		return fmt.Errorf("duration %v is not above 0", c.Duration)
	}
	return nil
}

// closedPacer lets every worker go on at once, until the time is over or the tape is at its end.
type closedPacer struct {
	entries []tape.Entry
	closed  Closed
	end     time.Time // set by the first call of Pace, before any hit
	stopped atomic.Bool
}

func newClosedPacer(entries []tape.Entry, c Closed) *closedPacer {
	return &closedPacer{entries: entries, closed: c}
}

// Pace never waits; it says stop once the time is over, after the last journey, or once interrupted.
func (p *closedPacer) Pace(_ time.Duration, hits uint64) (time.Duration, bool) {
	if p.end.IsZero() {
		p.end = time.Now().Add(p.closed.Duration)
	}
	return 0, p.over() || hits >= uint64(len(p.entries))
}

// Rate is not known in advance; vegeta uses it for display only.
func (p *closedPacer) Rate(time.Duration) float64 { return 0 }

func (p *closedPacer) over() bool { return p.stopped.Load() || time.Now().After(p.end) }

// due says no to a journey whose turn came while all users were busy until the end.
func (p *closedPacer) due(int64) (time.Time, bool) { return time.Now(), !p.over() }

// rest is the user's time to think, cut short by the end.
func (p *closedPacer) rest(ctx context.Context) {
	wait := min(p.closed.Think, time.Until(p.end))
	if wait <= 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (p *closedPacer) length() time.Duration { return p.closed.Duration }

func (p *closedPacer) mode() record.Mode { return record.Closed }

func (p *closedPacer) interrupt() { p.stopped.Store(true) }

func (p *closedPacer) close() {}
