package attack

import (
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"hopwise/load/internal/tape"
)

// lead is the time between the first call of the pacer and arrival 0, so that vegeta's workers are up by then.
const lead = 100 * time.Millisecond

// pacer lets vegeta send each journey of a tape at its arrival time.
//
// It waits itself, on a precise timer, and always tells vegeta to wait no longer.
type pacer struct {
	entries []tape.Entry
	timer   *timer
	zero    time.Time // arrival 0; set by the first call, before any hit
}

var _ vegeta.Pacer = (*pacer)(nil)

func newPacer(entries []tape.Entry) (*pacer, error) {
	timer, err := newTimer()
	if err != nil {
		return nil, err
	}
	return &pacer{entries: entries, timer: timer}, nil
}

// Pace waits for the arrival of the next journey; it says stop after the last one, or once interrupted.
func (p *pacer) Pace(_ time.Duration, hits uint64) (time.Duration, bool) {
	if p.zero.IsZero() {
		p.zero = time.Now().Add(lead)
	}
	if hits >= uint64(len(p.entries)) {
		return 0, true
	}
	if err := p.timer.wait(time.Until(p.arrival(int64(hits)))); err != nil {
		return 0, true
	}
	return 0, false
}

// Rate returns the mean rate; vegeta uses it for display only.
func (p *pacer) Rate(time.Duration) float64 {
	last := time.Duration(p.entries[len(p.entries)-1].AtNs)
	return float64(len(p.entries)) / max(last.Seconds(), 1e-9)
}

func (p *pacer) arrival(seq int64) time.Time {
	return p.zero.Add(time.Duration(p.entries[seq].AtNs))
}

// interrupt makes a Pace that waits, and every later one, say stop.
func (p *pacer) interrupt() { p.timer.interrupt() }

func (p *pacer) close() { p.timer.close() }
