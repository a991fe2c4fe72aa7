package attack

import (
	"context"
	"fmt"
	"time"

	"hopwise/load/internal/journey"
)

// MaxVUs is the most virtual users of a closed loop.
const MaxVUs = 10_000

// Closed is a closed loop: virtual users take the journeys of the tape in its order, whatever their times, and each sends
// its next one once it has its answer and has thought about it.
//
// Users who think come in one after the other, spread evenly over the first time to think: at once, they would send their
// journeys in waves for as long as the loop lasts. Users who do not think begin together.
//
// A slow shop gets less load that way, so latencies of a closed loop do not compare with those of an open one.
type Closed struct {
	VUs      int
	Think    time.Duration // pause between an answer and the same user's next journey
	Duration time.Duration // how long journeys start
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
	entries []journey.Entry
	closed  Closed
	begin   time.Time // set by the first call of Pace, before any hit
	end     time.Time
	stopped context.Context
	stop    context.CancelFunc
}

func newClosedPacer(entries []journey.Entry, c Closed) *closedPacer {
	p := &closedPacer{entries: entries, closed: c}
	p.stopped, p.stop = context.WithCancel(context.Background())
	return p
}

// Pace waits only for users who are still to come in; it says stop once the time is over, after the last journey, or once
// interrupted.
func (p *closedPacer) Pace(_ time.Duration, hits uint64) (time.Duration, bool) {
	if p.begin.IsZero() {
		p.begin = time.Now()
		p.end = p.begin.Add(p.closed.Duration)
	}
	if hits < uint64(p.closed.VUs) {
		p.await(p.begin.Add(p.closed.Think / time.Duration(p.closed.VUs) * time.Duration(hits)))
	}
	return 0, p.over() || hits >= uint64(len(p.entries))
}

// await waits until then, or until the end, or until interrupted.
func (p *closedPacer) await(then time.Time) {
	wait := min(time.Until(then), time.Until(p.end))
	if wait <= 0 {
		return
	}
	limited, cancel := context.WithTimeout(p.stopped, wait)
	defer cancel()
	<-limited.Done()
}

// Rate is for vegeta's display of an attack, which nobody sees.
func (p *closedPacer) Rate(time.Duration) float64 { return 0 }

func (p *closedPacer) over() bool { return p.stopped.Err() != nil || time.Now().After(p.end) }

// due says no to a journey whose turn came while all users were busy until the end.
func (p *closedPacer) due(int64) (time.Time, bool) { return time.Now(), !p.over() }

// rest is the user's time to think, cut short by the end.
func (p *closedPacer) rest(ctx context.Context) { sleep(ctx, min(p.closed.Think, time.Until(p.end))) }

func (p *closedPacer) interrupt() { p.stop() }

func (p *closedPacer) close() { p.stop() }
