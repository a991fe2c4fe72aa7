package attack

import (
	"context"
	"fmt"
	"math"
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
// With steps, some of the users are there only for a while: each of so many equal parts of the duration has its share of them.
//
// A slow shop gets less load that way, so latencies of a closed loop do not compare with those of an open one.
type Closed struct {
	VUs      int
	Think    time.Duration // pause between an answer and the same user's next journey
	Duration time.Duration // how long journeys start
	Steps    []float64     // share of the users who are there in each part of the duration; empty for all, throughout
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
	for _, share := range c.Steps {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("steps %v has %v, which is not between 0 and 1", c.Steps, share)
		}
	}
	return nil
}

// closedPacer lets every worker go on at once, until the time is over or the tape is at its end.
type closedPacer struct {
	entries []journey.Entry
	closed  Closed
	places  chan struct{} // free for a user each; nil without steps
	begin   time.Time     // set by the first call of Pace, before any hit
	end     time.Time
	stopped context.Context
	stop    context.CancelFunc
}

func newClosedPacer(entries []journey.Entry, c Closed) *closedPacer {
	p := &closedPacer{entries: entries, closed: c}
	p.stopped, p.stop = context.WithCancel(context.Background())
	if len(c.Steps) > 0 {
		p.places = make(chan struct{}, c.VUs)
	}
	return p
}

// Pace waits only for users who are still to come in; it says stop once the time is over, after the last journey, or once
// interrupted.
func (p *closedPacer) Pace(_ time.Duration, hits uint64) (time.Duration, bool) {
	if p.begin.IsZero() {
		p.begin = time.Now()
		p.end = p.begin.Add(p.closed.Duration)
		if p.places != nil {
			go p.vary()
		}
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

// vary frees and takes places at the beginning of each step; one that is taken becomes so once its user has an answer.
func (p *closedPacer) vary() {
	there := 0
	for i, share := range p.closed.Steps {
		p.await(p.begin.Add(p.closed.Duration * time.Duration(i) / time.Duration(len(p.closed.Steps))))
		for now := int(math.Round(share * float64(p.closed.VUs))); there != now; {
			if there < now {
				p.places <- struct{}{}
				there++
				continue
			}
			select {
			case <-p.places:
				there--
			case <-p.stopped.Done():
				return
			}
		}
	}
}

// enter waits for a place, if users come and go; it says no if there is none until the end.
func (p *closedPacer) enter() bool {
	if p.places == nil {
		return true
	}
	limited, cancel := context.WithDeadline(p.stopped, p.end)
	defer cancel()
	select {
	case <-p.places:
		return true
	case <-limited.Done():
		return false
	}
}

// Rate is for vegeta's display of an attack, which nobody sees.
func (p *closedPacer) Rate(time.Duration) float64 { return 0 }

func (p *closedPacer) over() bool { return p.stopped.Err() != nil || time.Now().After(p.end) }

// due says no to a journey whose turn came while all users were busy until the end.
func (p *closedPacer) due(int64) (time.Time, bool) {
	there := p.enter()
	return time.Now(), there && !p.over()
}

// rest is the user's time to think, cut short by the end; then the place is free for the next one.
func (p *closedPacer) rest(ctx context.Context) {
	sleep(ctx, min(p.closed.Think, time.Until(p.end)))
	if p.places != nil {
		p.places <- struct{}{}
	}
}

func (p *closedPacer) interrupt() { p.stop() }

func (p *closedPacer) close() { p.stop() }
