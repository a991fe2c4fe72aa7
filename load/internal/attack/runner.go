package attack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"hopwise/load/internal/choice"
	"hopwise/load/internal/exchange"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/record"
	"hopwise/load/internal/session"
	"hopwise/load/internal/shopdata"
	"hopwise/load/internal/steps"
	"hopwise/load/internal/target"
	"hopwise/load/internal/telemetry"
)

type Runner struct {
	Client    *exchange.Client
	Customers *exchange.Customers // nil if all customers share the client's connections
	Sessions  *session.Sessions
	Tracing   *telemetry.Tracing                 // nil if nothing is traced
	Cache     map[target.Channel]*exchange.Cache // cache of each channel's customers; empty if they keep no answers
	Steps     *steps.Plan                        // steps of a target other than the shop; nil for the shop
	Scale     shopdata.Scale
	Timeout   time.Duration // time limit of one journey, from its start
	Compares  bool          // whether rows count the fields of answers that screens do not need

	urgent  bool         // whether requests of journeys under way declare a higher urgency than requests of new journeys
	apart   journey.Name // kind of journey that has exclusive components; empty for none
	drivers map[target.Channel]driver
}

type driver struct {
	journey.Driver
	url string
}

// NewRunner returns a runner with the driver that each channel on the tape needs.
func NewRunner(t target.Target, entries []journey.Entry) (*Runner, error) {
	plan, err := stepsOf(t)
	if err != nil {
		return nil, err
	}
	r := &Runner{Steps: plan, urgent: t.Urgent, apart: journey.Name(t.Apart), drivers: map[target.Channel]driver{}, Cache: map[target.Channel]*exchange.Cache{}}
	if t.Apart != "" && !r.apart.Known() {
		return nil, fmt.Errorf("apart: journey %q is unknown; journeys: %s", t.Apart, choice.List(journey.Names()))
	}
	for _, entry := range entries {
		channel, known := r.drivers[entry.Channel]
		if !known {
			at, err := t.EntryOf(entry.Channel)
			if err != nil {
				return nil, err
			}
			channel = driver{journey.Driver{Protocol: at.Protocol, Plan: t.Plan, Texts: t.Texts, Gets: t.Gets, Selects: t.Selection, Steps: plan}, at.URL}
			r.drivers[entry.Channel] = channel
			if t.Cache {
				r.Cache[entry.Channel] = exchange.NewCache()
			}
		}
		if err := channel.Check(entry.Channel, entry.Journey); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// stepsOf reads the steps of a target other than the shop, and returns nil for the shop.
func stepsOf(t target.Target) (*steps.Plan, error) {
	if t.Steps == "" {
		return nil, nil
	}
	plan, err := steps.Read(t.Steps)
	if err != nil {
		return nil, err
	}
	return plan, plan.Toward(t.Endpoints)
}

// Prepare opens the connections and prepares each driver for its journeys.
func (r *Runner) Prepare(ctx context.Context, entries []journey.Entry) error {
	if err := r.Client.Connect(ctx); err != nil {
		return err
	}
	if err := r.Customers.Connect(ctx); err != nil {
		return err
	}
	for driver, journeys := range r.work(entries) {
		untraced := func() *exchange.Exchange { return exchange.Untraced(r.Client.At(driver.url)) }
		if err := driver.Prepare(ctx, slices.Sorted(maps.Keys(journeys)), untraced); err != nil {
			return err
		}
	}
	return nil
}

// MaxDuration is the time limit of a journey, pauses included.
func (r *Runner) MaxDuration() time.Duration {
	if r.Steps == nil {
		return r.Timeout
	}
	return r.Timeout + r.Steps.MaxPauses()
}

func (r *Runner) work(entries []journey.Entry) map[driver]map[journey.Name]bool {
	work := map[driver]map[journey.Name]bool{}
	for _, entry := range entries {
		driver := r.drivers[entry.Channel]
		if work[driver] == nil {
			work[driver] = map[journey.Name]bool{}
		}
		work[driver][entry.Journey] = true
	}
	return work
}

// Run runs one journey and returns its row and the canonical JSON of its answer (nil if the journey failed).
//
// All times derive from the wall clock at the start and, from then on, the monotonic clock, so that row and spans
// agree. The journey ends when its answer has been decoded; its time does not include the check of the answer.
func (r *Runner) Run(ctx context.Context, e journey.Entry, intended time.Time, sampled bool) (record.Row, []byte) {
	started := time.Now()
	intended = started.Add(-started.Sub(intended)) // the wall clock may have been adjusted since the replay began
	trace := r.Tracing.Start(telemetry.Subject{Journey: string(e.Journey), Channel: string(e.Channel), Seq: e.Seq}, intended, started, sampled)
	driver := r.drivers[e.Channel]
	limited, cancel := context.WithTimeout(ctx, r.Timeout+driver.Pauses(e))
	client, leave, err := r.enter(limited, e.Channel, trace)
	x := exchange.New(client.At(driver.url), trace)
	x.Keep(r.Cache[e.Channel])
	if r.Compares {
		x.Need(e.Journey.Shows())
	}
	if r.urgent {
		x.Urgent(e.Journey == journey.Checkout)
	}
	if e.Journey == r.apart {
		x.Apart(string(r.apart))
	}
	var got journey.Answer
	if err == nil {
		got, err = driver.Run(limited, e, r.Sessions.Token(e), x)
	}
	ended := started.Add(time.Since(started))
	if err != nil && (limited.Err() != nil || steps.IsLate(err)) {
		err = within(err, stopError(ctx, r.Timeout))
	}
	cancel()
	leave(err == nil)

	canonical, orderID, err := r.check(e, got, err)
	class := outcome.Of(err)
	trace.End(ended, class)
	shape, sizes := x.Shape(), x.Sizes()
	row := record.Row{
		Seq:               e.Seq,
		Journey:           e.Journey,
		Channel:           e.Channel,
		IntendedNs:        intended.UnixNano(),
		StartedNs:         started.UnixNano(),
		EndedNs:           ended.UnixNano(),
		LatencyNs:         (ended.Sub(intended) - x.Thought()).Nanoseconds(),
		Outcome:           class,
		BytesIn:           sizes.In,
		BytesInRaw:        sizes.InRaw,
		BytesOut:          sizes.Out,
		Requests:          shape.Requests,
		Waves:             shape.Waves,
		Parallel:          shape.Parallel,
		NetworkNs:         shape.Network.Nanoseconds(),
		OpeningRoundTrips: shape.OpeningRoundTrips,
		Sampled:           sampled && r.Tracing != nil,
		TraceID:           trace.TraceID(),
		OrderID:           orderID,
		Status:            x.Status(),
		Beyond:            x.Beyond(),
	}
	if err != nil {
		row.Error = err.Error()
		return row, nil
	}
	row.AnswerSHA256 = journey.Digest(canonical)
	return row, canonical
}

// enter returns the client of a journey, shared or exclusive, and the function that releases it afterwards.
func (r *Runner) enter(
	ctx context.Context, channel target.Channel, trace *telemetry.Journey,
) (client *exchange.Client, leave func(ok bool), err error) {
	if r.Customers == nil {
		return r.Client, func(bool) {}, nil
	}
	began := time.Now()
	client, late, err := r.Customers.Borrow(ctx, channel)
	if late {
		trace.Within(telemetry.Handshake, began, began.Add(time.Since(began)))
	}
	if err != nil {
		return r.Client, func(bool) {}, outcome.Failed(outcome.Client, "a customer's connections: %w", err)
	}
	return client, func(ok bool) { r.Customers.Return(client, channel, ok) }, nil
}

// within returns the error stopped. For a target other than the shop, it adds the step in which the journey stopped.
func within(err, stopped error) error {
	if failed := (*steps.Failure)(nil); errors.As(err, &failed) {
		return fmt.Errorf("%s: %w", failed.Where(), stopped)
	}
	return stopped
}

// stopError returns why a journey was stopped: its time was over, or the whole replay was stopped.
func stopError(ctx context.Context, timeout time.Duration) error {
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(cause, outcome.ErrInterrupted) {
			return cause
		}
		return outcome.Failed(outcome.Timeout, "given up: %w", cause)
	}
	return outcome.Failed(outcome.Timeout, "no complete answer within the journey's limit of %v", timeout)
}

func (r *Runner) check(e journey.Entry, got journey.Answer, failed error) (canonical []byte, orderID int64, err error) {
	if failed != nil {
		return nil, 0, failed
	}
	orderID = journey.OrderID(got) // set for a wrong answer too: the order may exist
	if err := journey.Check(journey.Question{Params: e.Params, Scale: r.Scale}, got); err != nil {
		return nil, orderID, err
	}
	canonical, err = journey.Canonical(got)
	return canonical, orderID, err
}
