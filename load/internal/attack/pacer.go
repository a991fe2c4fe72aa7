package attack

import (
	"context"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"hopwise/load/internal/journey"
	"hopwise/load/internal/timer"
)

// lead is the time between the first call of the pacer and arrival 0, so that vegeta's workers are up by then.
const lead = 100 * time.Millisecond

// pacer lets vegeta send each journey of a tape at its arrival time.
//
// It waits itself, on a precise timer, and always tells vegeta to wait no longer.
type pacer struct {
	entries []journey.Entry
	timer   *timer.Timer
	zero    time.Time // arrival 0; without a start instant set by the first call, before any hit
}

// scheduler says when journeys start.
type scheduler interface {
	vegeta.Pacer
	// due returns when the journey of a hit was to start, and whether it still may.
	due(hit int64) (time.Time, bool)
	// rest waits until the worker that has run a journey may run the next one.
	rest(ctx context.Context)
	interrupt()
	close()
}

var (
	_ scheduler = (*pacer)(nil)
	_ scheduler = (*closedPacer)(nil)
)

// schedule returns what decides when journeys start, and vegeta's workers for it.
func schedule(entries []journey.Entry, zero time.Time, closed *Closed) (scheduler, []func(*vegeta.Attacker), error) {
	if closed != nil {
		users := uint64(closed.VUs)
		return newClosedPacer(entries, *closed), []func(*vegeta.Attacker){vegeta.Workers(users), vegeta.MaxWorkers(users)}, nil
	}
	p, err := newPacer(entries, zero)
	return p, []func(*vegeta.Attacker){vegeta.Workers(min(initialWorkers, uint64(len(entries))))}, err
}

func newPacer(entries []journey.Entry, zero time.Time) (*pacer, error) {
	precise, err := timer.New()
	if err != nil {
		return nil, err
	}
	return &pacer{entries: entries, timer: precise, zero: zero}, nil
}

// Pace waits for the arrival of the next journey; it says stop after the last one, or once interrupted.
func (p *pacer) Pace(_ time.Duration, hits uint64) (time.Duration, bool) {
	if p.zero.IsZero() {
		p.zero = time.Now().Add(lead)
	}
	if hits >= uint64(len(p.entries)) {
		return 0, true
	}
	if err := p.timer.Wait(time.Until(p.arrival(int64(hits)))); err != nil {
		return 0, true
	}
	return 0, false
}

// Rate is for vegeta's display of an attack, which nobody sees.
func (p *pacer) Rate(time.Duration) float64 { return 0 }

func (p *pacer) arrival(hit int64) time.Time {
	return p.zero.Add(time.Duration(p.entries[hit].AtNs))
}

func (p *pacer) due(hit int64) (time.Time, bool) { return p.arrival(hit), true }

func (p *pacer) rest(context.Context) {}

// interrupt makes a Pace that waits, and every later one, say stop.
func (p *pacer) interrupt() { p.timer.Interrupt() }

func (p *pacer) close() { p.timer.Close() }
