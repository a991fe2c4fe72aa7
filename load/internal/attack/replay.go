package attack

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"hopwise/load/internal/journey"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/record"
	"hopwise/load/internal/tape"
)

const (
	// initialWorkers are up before the first arrival; vegeta adds more whenever all are busy.
	initialWorkers = 256
	seqHeader      = "X-Vegeta-Seq"
)

// Options are the switches of a replay.
type Options struct {
	Sampled []bool        // whether the journey is traced, by seq
	Drain   time.Duration // longest wait after the last arrival, until journeys under way are given up
	Closed  *Closed       // nil for an open loop
	StartAt time.Time     // of the tape's time 0 in an open loop; zero to start at once
	Watch   func(sent, failed int64)
}

// Mode returns which loop it is, and the time from its first to its last possible start.
func (o Options) Mode(t *tape.Tape) (record.Mode, time.Duration) {
	if o.Closed != nil {
		return record.Closed, o.Closed.Duration
	}
	return record.Open, time.Duration(t.Entries[len(t.Entries)-1].AtNs)
}

// Result is what a replay left.
type Result struct {
	Rows        []record.Row // of the journeys sent, by seq
	Interrupted bool
	Usage       record.Usage
}

// Replay sends every journey of the tape at its time, however slow the answers are, and waits for the last answer.
//
// Vegeta's Attacker schedules and runs the journeys: our pacer gives it the arrival times, our round tripper runs a whole
// journey as one of its hits. When the context ends, nothing more is sent and journeys under way are given up.
//
// With a start instant it waits for that first, so that several generators on machines of their own begin together.
//
// In a closed loop there are as many workers as virtual users, and the pacer lets each of them go on at once.
func Replay(ctx context.Context, t *tape.Tape, runner *Runner, o Options) (Result, error) {
	zero, err := monotonic(o.StartAt)
	if err != nil {
		return Result{}, err
	}
	p, workers, err := schedule(t.Entries, zero, o.Closed)
	if err != nil {
		return Result{}, err
	}
	defer p.close()
	journeys, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	mode, length := o.Mode(t)
	trip := &tripper{
		ctx: journeys, runner: runner, pacer: p, mode: mode, entries: t.Entries, sampled: o.Sampled, rows: make([]record.Row, len(t.Entries)),
	}
	attacker := vegeta.NewAttacker(append(workers, vegeta.Client(&http.Client{Transport: trip}))...)

	debug.FreeOSMemory() // what reading the tape left is collected now, not during the load
	if !zero.IsZero() {
		sleep(ctx, time.Until(zero)-lead)
	}
	before := record.ReadUsage(runner.Client.Meter())
	hits := attacker.Attack(targeter, p, 0, "")
	drain := time.AfterFunc(lead+length+o.Drain, func() { giveUp(fmt.Errorf("no answer %v after the last arrival", o.Drain)) })
	defer drain.Stop()
	stop := context.AfterFunc(ctx, func() {
		p.interrupt()
		attacker.Stop()
		giveUp(outcome.ErrInterrupted)
	})
	defer stop()

	for range hits {
		if o.Watch != nil {
			o.Watch(trip.sent.Load(), trip.failed.Load())
		}
	}
	usage := record.ReadUsage(runner.Client.Meter()).Since(before)
	result := Result{Usage: usage, Interrupted: ctx.Err() != nil}
	for _, row := range trip.rows {
		if row.Outcome != "" {
			result.Rows = append(result.Rows, row)
		}
	}
	if o.Closed == nil && len(result.Rows) < len(t.Entries) && !result.Interrupted {
		return result, fmt.Errorf("%d of %d journeys were not sent", len(t.Entries)-len(result.Rows), len(t.Entries))
	}
	return result, nil
}

// targeter gives vegeta a request per hit; the round tripper replaces it by the journey that is due.
func targeter(t *vegeta.Target) error {
	t.Method, t.URL = http.MethodPost, "http://journey.invalid/"
	return nil
}

// tripper runs the journey at the hit's place on the tape.
type tripper struct {
	ctx     context.Context // vegeta's requests carry none
	runner  *Runner
	pacer   scheduler
	mode    record.Mode
	entries []journey.Entry
	sampled []bool
	rows    []record.Row // each hit writes its own
	sent    atomic.Int64
	failed  atomic.Int64
}

var _ http.RoundTripper = (*tripper)(nil)

func (t *tripper) RoundTrip(r *http.Request) (*http.Response, error) {
	hit, err := strconv.ParseInt(r.Header.Get(seqHeader), 10, 64)
	if err != nil || hit < 0 || hit >= int64(len(t.rows)) {
		return nil, fmt.Errorf("hit %q is not on the tape", r.Header.Get(seqHeader))
	}
	if intended, due := t.pacer.due(hit); due {
		t.sent.Add(1)
		entry := t.entries[hit]
		sampled := t.sampled != nil && t.sampled[entry.Seq]
		row, _ := t.runner.Run(t.ctx, entry, intended, sampled)
		row.Mode = t.mode
		t.rows[hit] = row
		if row.Outcome != outcome.OK {
			t.failed.Add(1)
		}
		t.pacer.rest(t.ctx)
	}
	return done(r), nil
}

// done tells vegeta that its hit is through; what came of it is in the row.
func done(r *http.Request) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}
}
