package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel"

	"hopwise/load/internal/attack"
	"hopwise/load/internal/exchange"
	"hopwise/load/internal/link"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/priority"
	"hopwise/load/internal/progress"
	"hopwise/load/internal/record"
	"hopwise/load/internal/tape"
	"hopwise/load/internal/target"
	"hopwise/load/internal/telemetry"
	"hopwise/load/internal/wire"
)

const (
	defaultDrain = 10 * time.Second
	flushTimeout = 15 * time.Second
)

type replayFlags struct {
	common
	trace    float64
	warmup   bool
	quiet    bool
	drain    time.Duration
	priority string
	closed   attack.Closed
	startAt  time.Time // zero to start at once
}

func newReplay(stderr *os.File) *cobra.Command {
	var (
		f       replayFlags
		startAt int64
	)
	cmd := &cobra.Command{
		Use:   "replay --tape FILE --target FILE --out DIR",
		Short: "Sends a tape's journeys at their times and writes their results",
		Long: `Sends the journeys of a tape at their arrival times, however slow the shop is (open loop), checks every answer, and writes:

  DIR/journeys.jsonl  a row per journey: times, outcome, requests, bytes of bodies, digest of the answer
  DIR/vegeta.gob      the same in vegeta's encoding, for "vegeta report" and "vegeta plot"
  DIR/generator.json  this program's own figures: CPU, start lag, spans, digests

With --shard I/N it sends only the journeys whose seq modulo N is I, over its share of the connections. N generators send the whole tape;
they begin at the same --start-at, and "shopload merge" joins their results.

If the target has networks, each journey has its own customer, whose connections go over a separate emulated link.

With --vus the loop is closed instead: for --duration, virtual users take the journeys in the order of the tape and ignore
their arrival times. Each user sends the next journey after the answer to the previous one. Rows and figures then have "mode": "closed".

Latency counts from the intended arrival (in a closed loop from the actual start). Outcomes are ok, client (not sent, or
refused), server, timeout, wrong_answer.
Customers and partners hold valid sessions before the load; only the login journey logs in.`,
		Example: "  shopload replay --tape tape.jsonl --target target.json --trace 0.2 --out results/run",
	}
	f.register(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.warmup, "warmup", false, "send the journeys without tracing or writing results")
	flags.BoolVar(&f.quiet, "quiet", false, "show no progress")
	flags.Int64Var(&startAt, "start-at", 0, "when the tape begins, as Unix time in ns (default: at once); refused if it has passed")
	flags.IntVar(&f.closed.VUs, "vus", 0, "number of virtual users of a closed loop (default: an open loop, at the tape's times)")
	flags.DurationVar(&f.closed.Think, "think", 0, "mean think time between an answer and the same virtual user's next journey; needs --vus")
	flags.DurationVar(&f.closed.Duration, "duration", 0, "how long the virtual users start journeys; needs --vus")
	flags.Float64SliceVar(&f.closed.Steps, "steps", nil,
		"share of the virtual users in each of several equal parts of --duration, 0 to 1 (default: all); needs --vus")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("start-at") {
			f.startAt = time.Unix(0, startAt)
		}
		if err := f.check(cmd); err != nil {
			return err
		}
		o, err := f.open(cmd)
		if err != nil {
			return err
		}
		return f.send(cmd, stderr, o)
	}
	return cmd
}

func (f *replayFlags) register(cmd *cobra.Command) {
	f.common.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.out, "out", "", "folder to write to")
	flags.TextVar(&f.shard, "shard", tape.Whole, "shard `I/N` of the tape to send, the journeys whose seq modulo N is I, over that share of the connections")
	flags.Float64Var(&f.trace, "trace", 0, "share of journeys to trace, 0 to 1")
	flags.DurationVar(&f.drain, "drain", defaultDrain, "maximum wait for answers after the last arrival")
	flags.StringVar(&f.priority, "priority", string(priority.Auto),
		"priority of this process: normal, prompt (a short time slice), realtime, or auto (the best that the system allows)")
}

func (f *replayFlags) check(cmd *cobra.Command) error {
	switch {
	case !(f.trace >= 0 && f.trace <= 1):
		return badInput{fmt.Errorf("--trace %v is not between 0 and 1", f.trace)}
	case f.drain < 0:
		return badInput{fmt.Errorf("--drain %v is negative", f.drain)}
	}
	if err := f.checkClosed(cmd); err != nil {
		return badInput{err}
	}
	if f.warmup {
		f.trace = 0
		return nil
	}
	return requireFlags(cmd, "out")
}

// checkClosed checks the flags of a closed loop, which --vus selects.
func (f *replayFlags) checkClosed(cmd *cobra.Command) error {
	if cmd.Flags().Changed("vus") {
		if err := f.closed.Check(); err != nil {
			return fmt.Errorf("--%w (closed loop)", err)
		}
		for _, name := range []string{"shard", "start-at"} {
			if cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s needs an open loop, in which the tape says when each journey is sent; leave out --vus", name)
			}
		}
		return nil
	}
	for _, name := range []string{"think", "duration", "steps"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s needs --vus (a closed loop)", name)
		}
	}
	return nil
}

// loop returns the requested closed loop; nil for an open loop.
func (f *replayFlags) loop() *attack.Closed {
	if f.closed.VUs == 0 {
		return nil
	}
	return &f.closed
}

type opened struct {
	setup
	priority priority.Wish
	opening  wire.Count
	lost     *atomic.Pointer[error] // last error of the exporter of spans
}

// open reads the replay's files, and opens its sessions, its connections and the connection to the receiver of traces.
func (f *replayFlags) open(cmd *cobra.Command) (*opened, error) {
	s, err := f.read(cmd)
	if err != nil {
		return nil, err
	}
	o := &opened{setup: s}
	if err := f.connect(cmd, o); err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

func (f *replayFlags) connect(cmd *cobra.Command, o *opened) (err error) {
	if f.trace > 0 && o.target.OTLP == "" {
		return badInput{fmt.Errorf("--trace %v needs the field otlp in %s", f.trace, f.targetPath)}
	}
	if !f.warmup {
		if err := os.MkdirAll(f.out, 0o755); err != nil {
			return badInput{err}
		}
	}
	if o.priority, err = priority.Apply(priority.Wish(f.priority)); err != nil {
		return badInput{err}
	}
	if err := f.emulate(o); err != nil {
		return badInput{err}
	}
	if err := o.prepare(cmd.Context()); err != nil {
		return err
	}
	o.lost = watchExport()
	if f.trace > 0 {
		if o.runner.Tracing, err = telemetry.Open(cmd.Context(), o.target); err != nil {
			return err
		}
	}
	o.opening = o.runner.Client.Meter().Count()
	return nil
}

func (f *replayFlags) emulate(o *opened) (err error) {
	networks, err := o.target.Emulated()
	if err != nil {
		return err
	}
	for _, entry := range o.tape.Entries {
		if _, known := networks[entry.Channel]; !known && len(networks) > 0 {
			return fmt.Errorf("the networks in %s lack the channel %s, which is on the tape", f.targetPath, entry.Channel)
		}
	}
	// No journey takes longer than its time limit, so no more journeys than this are under way at a time.
	ready := func(of []target.Channel) int { return o.tape.MaxWithin(o.runner.MaxDuration(), of) }
	if c := f.loop(); c != nil {
		ready = func([]target.Channel) int { return c.VUs }
	}
	o.runner.Customers, err = exchange.NewCustomers(o.target, ready, o.runner.Client.Meter())
	return err
}

func (o *opened) close() {
	o.runner.Customers.Close()
	o.runner.Client.Close()
}

// send replays the tape, writes the results, and closes the opened connections.
func (f *replayFlags) send(cmd *cobra.Command, stderr *os.File, o *opened) error {
	defer o.close()
	result, failure := f.replay(cmd.Context(), stderr, o.setup)
	tracing, err := flush(o)
	if err != nil {
		otel.Handle(err)
	}
	if last := o.lost.Load(); last != nil {
		fmt.Fprintf(stderr, "shopload: the receiver of traces %s: %s\n", o.target.OTLP, oneLine(*last))
	}
	figures := f.figures(o, result)
	figures.Tracing = tracing
	if !f.warmup {
		if err := record.Write(f.out, result.Rows, figures); err != nil {
			return err
		}
	}
	if err := report(cmd, figures); err != nil {
		return err
	}
	if result.Interrupted {
		return errInterrupted
	}
	return failure
}

func (f *replayFlags) replay(ctx context.Context, stderr *os.File, s setup) (attack.Result, error) {
	name := "replay"
	if f.warmup {
		name = "warm-up"
	}
	options := attack.Options{Drain: max(f.drain, s.runner.MaxDuration()), Closed: f.loop(), StartAt: f.startAt}
	_, length := options.Mode(s.tape)
	if !f.quiet {
		line := progress.Start(stderr, name, len(s.tape.Entries), length)
		defer line.Stop()
		options.Watch = line.Set
	}
	if f.trace > 0 {
		options.Sampled = telemetry.Sample(s.tape.Header.Seed, s.target.Trial, s.tape.Numbers(), f.trace)
	}
	return attack.Replay(ctx, s.tape, s.runner, options)
}

func (f *replayFlags) figures(o *opened, r attack.Result) record.Generator {
	meter := o.runner.Client.Meter()
	g := record.Generator{
		Mode:          record.Open,
		Shard:         f.shard,
		Plan:          string(cmp.Or(o.target.Plan, target.Best)),
		TapeJourneys:  o.tape.Header.Journeys,
		Incomplete:    r.Interrupted || f.loop() == nil && len(r.Rows) < len(o.tape.Entries),
		Priority:      string(o.priority),
		Connections:   f.connections,
		Dialed:        meter.Dialed(),
		HTTP:          o.target.HTTP,
		OpeningIn:     o.opening.In,
		OpeningOut:    o.opening.Out,
		TapeSHA256:    o.tape.SHA256,
		Trace:         f.trace,
		SpansExported: o.runner.Tracing.Exported(),
		SpansDropped:  o.runner.Tracing.Dropped(),
		Topology:      o.target.Topology,
		Trial:         o.target.Trial,
	}
	if len(o.runner.Cache) > 0 {
		g.NotModified = new(int64)
		for _, cache := range o.runner.Cache {
			*g.NotModified += cache.NotModified()
		}
	}
	if customers := o.runner.Customers; customers != nil {
		g.Network = &record.Network{Channels: map[target.Channel]record.Link{}, Visit: cmp.Or(o.target.Visit, link.Warm)}
		for channel, n := range customers.Networks() {
			g.Network.Channels[channel] = record.Link{RTTMs: n.RTT.Seconds() * 1e3, Down: n.Down, Up: n.Up}
		}
		g.Network.Customers, g.Network.Late = customers.Opened()
	}
	if c := f.loop(); c != nil {
		g.Mode = record.Closed
		g.Closed = &record.ClosedLoop{
			VUs: c.VUs, ThinkS: c.Think.Seconds(), DurationS: c.Duration.Seconds(), TapeExhausted: len(r.Rows) == len(o.tape.Entries),
		}
	}
	g.Summarise(r.Rows, r.Usage)
	return g
}

// flush sends the spans and returns their cost, nil without tracing. An interrupted replay has the same time limit.
func flush(o *opened) (*record.TracingCost, error) {
	if o.runner.Tracing == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	meter := o.runner.Client.Meter()
	before := record.ReadUsage(meter)
	err := o.runner.Tracing.Close(ctx)
	cost := record.TracingCost{ExportCPUS: record.ReadUsage(meter).Since(before).CPU.Seconds(), CostNs: telemetry.SpanCosts()}
	return &cost, err
}

// watchExport records the span exporter's last error; otherwise each error would be written to the standard log.
func watchExport() *atomic.Pointer[error] {
	last := &atomic.Pointer[error]{}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { last.Store(&err) }))
	return last
}

func report(cmd *cobra.Command, g record.Generator) error {
	if wantsJSON(cmd) {
		return printJSON(cmd.OutOrStdout(), g)
	}
	of := ""
	if g.Shard != tape.Whole {
		of = fmt.Sprintf(" (shard %s)", g.Shard)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s loop%s: %d of %d journeys in %.1f s", g.Mode, of, g.Journeys, g.Shard.Size(g.TapeJourneys), g.WallS)
	for _, class := range append([]outcome.Class{outcome.OK}, outcome.Failures()...) {
		if count := g.Outcomes[string(class)]; count > 0 {
			fmt.Fprintf(cmd.OutOrStdout(), ", %s %d", class, count)
		}
	}
	fmt.Fprintf(cmd.OutOrStdout(), "; start lag p50 %.0f µs, p99 %.0f µs; CPU %.2f s; spans %d sent, %d lost\n",
		g.StartLagP50Us, g.StartLagP99Us, g.CPUS, g.SpansExported, g.SpansDropped)
	return err
}
