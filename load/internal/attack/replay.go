// Package attack runs journeys: one at a time, or a whole tape in an open or closed loop.
package attack

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"hopwise/load/internal/journey"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/record"
	"hopwise/load/internal/tape"
	"hopwise/load/internal/timer"
)

// lead is the time from the start of a replay to the tape's time 0; without it, the first journey would be late.
const lead = 100 * time.Millisecond

type Options struct {
	Sampled []bool                   // whether each journey is traced, by seq
	Drain   time.Duration            // maximum wait after the last arrival before journeys under way are cancelled
	Closed  *Closed                  // nil for an open loop
	StartAt time.Time                // time 0 of the tape in an open loop; zero to start at once
	Watch   func(sent, failed int64) // called after each journey, by several goroutines at a time; may be nil
}

// Mode returns the kind of loop, and the time from the first to the last moment at which a journey may start.
func (o Options) Mode(t *tape.Tape) (record.Mode, time.Duration) {
	if o.Closed != nil {
		return record.Closed, o.Closed.Duration
	}
	return record.Open, time.Duration(t.Entries[len(t.Entries)-1].AtNs)
}

type Result struct {
	Rows        []record.Row // rows of the sent journeys, by seq
	Interrupted bool
	Usage       record.Usage
}

// Replay sends every journey of the tape at its time, however slow the answers are, and waits for the last answer.
//
// When the context ends, Replay sends no further journeys and cancels the journeys under way. If o.StartAt is set,
// Replay waits until then, so that generators on several machines start together. In a closed loop, virtual users send
// the journeys.
func Replay(ctx context.Context, t *tape.Tape, runner *Runner, o Options) (Result, error) {
	zero, err := monotonic(o.StartAt)
	if err != nil {
		return Result{}, err
	}
	journeys, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	mode, length := o.Mode(t)
	r := &replay{Options: o, ctx: journeys, runner: runner, mode: mode, entries: t.Entries, rows: make([]record.Row, len(t.Entries))}

	debug.FreeOSMemory() // collects the garbage of reading the tape now, not during the load
	if !zero.IsZero() {
		sleep(ctx, time.Until(zero)-lead)
	}
	before := record.ReadUsage(runner.Client.Meter())
	if zero.IsZero() {
		zero = time.Now().Add(lead)
	}
	drain := time.AfterFunc(lead+length+o.Drain, func() { giveUp(fmt.Errorf("no answer %v after the last arrival", o.Drain)) })
	defer drain.Stop()
	defer context.AfterFunc(ctx, func() { giveUp(outcome.ErrInterrupted) })()
	if o.Closed != nil {
		o.Closed.loop(ctx, r.sendNext)
	} else if err := r.sendOnTime(ctx, zero); err != nil {
		return Result{}, err
	}

	result := Result{Usage: record.ReadUsage(runner.Client.Meter()).Since(before), Interrupted: ctx.Err() != nil}
	for _, row := range r.rows {
		if row.Outcome != "" {
			result.Rows = append(result.Rows, row)
		}
	}
	if o.Closed == nil && len(result.Rows) < len(t.Entries) && !result.Interrupted {
		return result, fmt.Errorf("%d of %d journeys were not sent", len(t.Entries)-len(result.Rows), len(t.Entries))
	}
	return result, nil
}

type replay struct {
	Options
	ctx     context.Context // of the journeys
	runner  *Runner
	mode    record.Mode
	entries []journey.Entry
	rows    []record.Row // by place on the tape, each written by the worker that sends the journey
	taken   atomic.Int64 // number of journeys that virtual users have taken from the tape
	sent    atomic.Int64
	failed  atomic.Int64
}

// pacer has the arrival times of a tape.
type pacer []journey.Entry

var _ vegeta.Pacer = pacer(nil)

// Pace returns how long to wait for the next arrival, or stop if there is no further arrival.
func (p pacer) Pace(elapsed time.Duration, hits uint64) (wait time.Duration, stop bool) {
	if hits >= uint64(len(p)) {
		return 0, true
	}
	return time.Duration(p[hits].AtNs) - elapsed, false
}

// Rate exists only for vegeta's display of an attack, which a replay does not use.
func (pacer) Rate(time.Duration) float64 { return 0 }

// sendOnTime sends each journey at its time, on an idle worker, or on a new worker if all are busy.
func (r *replay) sendOnTime(ctx context.Context, zero time.Time) error {
	precise, err := timer.New()
	if err != nil {
		return err
	}
	defer precise.Close()
	defer context.AfterFunc(ctx, precise.Interrupt)()
	var workers sync.WaitGroup
	due := make(chan uint64)
	send := func(place uint64) { r.send(int(place), zero.Add(time.Duration(r.entries[place].AtNs))) }
	for next := uint64(0); ; next++ {
		wait, stop := pacer(r.entries).Pace(time.Since(zero), next)
		if stop || ctx.Err() != nil || precise.Wait(wait) != nil {
			break
		}
		select {
		case due <- next:
		default:
			workers.Go(func() {
				send(next)
				for place := range due {
					send(place)
				}
			})
		}
	}
	close(due)
	workers.Wait()
	return nil
}

// sendNext sends the next journey of the tape at once, and returns whether there was one.
func (r *replay) sendNext() bool {
	place := int(r.taken.Add(1)) - 1
	if place >= len(r.entries) {
		return false
	}
	r.send(place, time.Now())
	return true
}

func (r *replay) send(place int, intended time.Time) {
	r.sent.Add(1)
	entry := r.entries[place]
	row, _ := r.runner.Run(r.ctx, entry, intended, r.Sampled != nil && r.Sampled[entry.Seq])
	row.Mode = r.mode
	r.rows[place] = row
	if row.Outcome != outcome.OK {
		r.failed.Add(1)
	}
	if r.Watch != nil {
		r.Watch(r.sent.Load(), r.failed.Load())
	}
}
