// Package attack runs journeys: one at a time, or a whole tape in an open loop.
package attack

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hopwise/load/internal/answer"
	"hopwise/load/internal/exchange"
	"hopwise/load/internal/graphql"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/record"
	"hopwise/load/internal/rest"
	"hopwise/load/internal/rpc"
	"hopwise/load/internal/session"
	"hopwise/load/internal/shopdata"
	"hopwise/load/internal/tape"
	"hopwise/load/internal/target"
	"hopwise/load/internal/telemetry"
	"hopwise/load/internal/transcoded"
)

// Driver runs journeys in one protocol.
type Driver interface {
	// Prepare does what is needed once before the first journey.
	Prepare(ctx context.Context, journeys []journey.Name, open func() *exchange.Exchange) error
	// Run runs one journey and returns its answer in canonical form, not checked yet.
	Run(ctx context.Context, e tape.Entry, token string, x *exchange.Exchange) (answer.Answer, error)
}

var (
	_ Driver = (*graphql.Driver)(nil)
	_ Driver = (*rest.Driver)(nil)
	_ Driver = (*rpc.Driver)(nil)
	_ Driver = (*transcoded.Driver)(nil)
)

// Runner runs single journeys of a tape against a target.
type Runner struct {
	Client   *exchange.Client
	Sessions *session.Sessions
	Tracing  *telemetry.Tracing // nil: no traces
	Scale    shopdata.Scale
	Timeout  time.Duration // of one journey, from its start

	drivers map[journey.Channel]Driver
}

// NewRunner returns a runner with the driver that each channel on the tape needs.
func NewRunner(t target.Target, entries []tape.Entry) (*Runner, error) {
	made := map[target.Protocol]Driver{}
	r := &Runner{drivers: map[journey.Channel]Driver{}}
	for _, entry := range entries {
		if r.drivers[entry.Channel] != nil {
			continue
		}
		protocol, err := t.Protocol(entry.Channel)
		if err != nil {
			return nil, err
		}
		if protocol == target.RESTTranscoded {
			if err := checkTranscoded(entry.Channel, entries); err != nil {
				return nil, err
			}
		}
		if made[protocol] == nil {
			if made[protocol], err = newDriver(protocol, t.Plan); err != nil {
				return nil, err
			}
		}
		r.drivers[entry.Channel] = made[protocol]
	}
	return r, nil
}

// checkTranscoded returns an error if the channel sends a journey that the transcoder has no plan for.
func checkTranscoded(c journey.Channel, entries []tape.Entry) error {
	for _, entry := range entries {
		if entry.Channel == c && !transcoded.Serves(entry.Journey) {
			return fmt.Errorf("channel %q sends the journey %q, which the protocol %s does not have; it has the partner's: checkout, order_status, bulk_lines",
				c, entry.Journey, target.RESTTranscoded)
		}
	}
	return nil
}

func newDriver(p target.Protocol, plan target.Plan) (Driver, error) {
	switch p {
	case target.GraphQL:
		return graphql.NewDriver(), nil
	case target.REST:
		return rest.NewDriver(), nil
	case target.RESTServices:
		return rest.NewServicesDriver(plan), nil
	case target.RESTTranscoded:
		return transcoded.NewDriver(), nil
	case target.GRPC:
		return rpc.NewDriver(plan), nil
	}
	return nil, fmt.Errorf("there is no driver for the protocol %q", p)
}

// Prepare opens the connections and lets each driver prepare for the journeys that it will run.
func (r *Runner) Prepare(ctx context.Context, entries []tape.Entry) error {
	if err := r.Client.Connect(ctx); err != nil {
		return err
	}
	untraced := func() *exchange.Exchange { return exchange.Untraced(r.Client) }
	for driver, journeys := range r.work(entries) {
		if err := driver.Prepare(ctx, journeys, untraced); err != nil {
			return err
		}
	}
	return nil
}

// work returns the journeys of each driver.
func (r *Runner) work(entries []tape.Entry) map[Driver][]journey.Name {
	work := map[Driver][]journey.Name{}
	seen := map[Driver]map[journey.Name]bool{}
	for _, entry := range entries {
		driver := r.drivers[entry.Channel]
		if seen[driver] == nil {
			seen[driver] = map[journey.Name]bool{}
		}
		if !seen[driver][entry.Journey] {
			seen[driver][entry.Journey] = true
			work[driver] = append(work[driver], entry.Journey)
		}
	}
	return work
}

// Run runs one journey and returns its row and the canonical JSON of its answer, nil if it failed.
//
// Times are taken from one reading of the clock at the start and the monotonic clock from there, so that the row and its
// spans agree. The end is when the answer is read and decoded; checking it is the instrument's work and not in it.
func (r *Runner) Run(ctx context.Context, e tape.Entry, intended time.Time, sampled bool) (record.Row, []byte) {
	started := time.Now()
	intended = started.Add(-started.Sub(intended)) // the wall clock may have been set since the replay began
	trace := r.Tracing.Start(e, intended, started, sampled)
	x := exchange.New(r.Client, trace)

	limited, cancel := context.WithTimeout(ctx, r.Timeout)
	got, err := r.drivers[e.Channel].Run(limited, e, r.Sessions.Token(e), x)
	ended := started.Add(time.Since(started))
	if err != nil && limited.Err() != nil {
		err = stopped(ctx, r.Timeout)
	}
	cancel()

	canonical, orderID, err := r.check(e, got, err)
	class := outcome.Of(err)
	trace.End(ended, class)
	shape, sizes := x.Shape(), x.Sizes()
	row := record.Row{
		Seq:        e.Seq,
		Journey:    e.Journey,
		Channel:    e.Channel,
		IntendedNs: intended.UnixNano(),
		StartedNs:  started.UnixNano(),
		EndedNs:    ended.UnixNano(),
		LatencyNs:  ended.UnixNano() - intended.UnixNano(),
		Outcome:    class,
		BytesIn:    sizes.In(),
		BytesInRaw: sizes.InRaw(),
		BytesOut:   sizes.Out(),
		Requests:   shape.Requests,
		Waves:      shape.Waves,
		Parallel:   shape.Parallel,
		Sampled:    sampled && r.Tracing != nil,
		TraceID:    trace.TraceID(),
		OrderID:    orderID,
		Status:     x.Status(),
	}
	if err != nil {
		row.Error = err.Error()
		return row, nil
	}
	row.AnswerSHA256 = answer.Digest(canonical)
	return row, canonical
}

// stopped says whether the journey's time was over or the whole replay was stopped.
func stopped(ctx context.Context, timeout time.Duration) error {
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(cause, outcome.ErrInterrupted) {
			return cause
		}
		return outcome.Failed(outcome.Timeout, "given up: %w", cause)
	}
	return outcome.Failed(outcome.Timeout, "no whole answer within %v", timeout)
}

func (r *Runner) check(e tape.Entry, got answer.Answer, failed error) (canonical []byte, orderID int64, err error) {
	if failed != nil {
		return nil, 0, failed
	}
	if order, ok := got.(*answer.Checkout); ok {
		orderID = order.OrderID // kept for a wrong answer too: the order may exist
	}
	if err := answer.Check(answer.Question{Params: e.Params, Scale: r.Scale}, got); err != nil {
		return nil, orderID, err
	}
	canonical, err = answer.Canonical(got)
	return canonical, orderID, err
}
