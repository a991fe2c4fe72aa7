package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel"

	"hopwise/load/internal/attack"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/priority"
	"hopwise/load/internal/progress"
	"hopwise/load/internal/record"
	"hopwise/load/internal/target"
	"hopwise/load/internal/telemetry"
)

const (
	defaultDrain = 10 * time.Second
	flushTimeout = 15 * time.Second
)

type replayFlags struct {
	common
	trace    float64
	warmup   bool
	drain    time.Duration
	priority string
	closed   attack.Closed
}

func newReplay(stderr *os.File) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay --tape FILE --target FILE --out DIR",
		Short: "Sends a tape's journeys at their times and writes how each went",
		Long: `Sends the journeys of a tape at their arrival times, however slow the shop is (open loop), checks every answer, and writes:

  DIR/journeys.jsonl  a row per journey: times, outcome, requests, bytes of bodies, digest of the answer
  DIR/vegeta.gob      the same in vegeta's encoding, for "vegeta report" and "vegeta plot"
  DIR/generator.json  this program's own figures: CPU, start lag, spans, digests

With --vus the loop is closed instead: for --duration, virtual users take the journeys in the order of the tape, whatever
their times, and each sends its next one once it has its answer. Rows and figures then say "mode": "closed".

Latency counts from the intended arrival (in a closed loop from the actual start). Outcomes are ok, client (not sent, or
refused), server, timeout, wrong_answer.
Customers and partners hold valid sessions before the load; only the login journey logs in.`,
		Example: "  shopload replay --tape tape.jsonl --target target.json --trace 0.2 --out results/run",
	}
	f.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.out, "out", "", "folder to write to")
	flags.Float64Var(&f.trace, "trace", 0, "share of journeys to trace, 0 to 1")
	flags.BoolVar(&f.warmup, "warmup", false, "send the journeys without tracing or writing results")
	flags.DurationVar(&f.drain, "drain", defaultDrain, "longest wait for answers after the last arrival")
	flags.StringVar(&f.priority, "priority", string(priority.Auto),
		"priority of this process: normal, realtime, or auto (realtime where the system allows it)")
	flags.IntVar(&f.closed.VUs, "vus", 0, "number of virtual users of a closed loop (default: an open loop, at the tape's times)")
	flags.DurationVar(&f.closed.Think, "think", 0, "think time between an answer and the same virtual user's next journey; needs --vus")
	flags.DurationVar(&f.closed.Duration, "duration", 0, "how long the virtual users start journeys; needs --vus")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return f.run(cmd, stderr) }
	return cmd
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
	return required(cmd, "out")
}

// checkClosed checks the flags of a closed loop, which goes by whether --vus is given.
func (f *replayFlags) checkClosed(cmd *cobra.Command) error {
	if cmd.Flags().Changed("vus") {
		if err := f.closed.Check(); err != nil {
			return fmt.Errorf("--%w (closed loop)", err)
		}
		return nil
	}
	for _, name := range []string{"think", "duration"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s needs --vus (a closed loop)", name)
		}
	}
	return nil
}

// loop returns the closed loop that was asked for, nil for an open one.
func (f *replayFlags) loop() *attack.Closed {
	if f.closed.VUs == 0 {
		return nil
	}
	return &f.closed
}

func (f *replayFlags) run(cmd *cobra.Command, stderr *os.File) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	s, err := f.read(cmd)
	if err != nil {
		return err
	}
	defer s.runner.Client.Close()
	if f.trace > 0 && s.target.OTLP == "" {
		return badInput{fmt.Errorf("--trace %v needs the field otlp in %s", f.trace, f.targetPath)}
	}
	if !f.warmup {
		if err := os.MkdirAll(f.out, 0o755); err != nil {
			return badInput{err}
		}
	}
	granted, err := priority.Apply(priority.Wish(f.priority))
	if err != nil {
		return badInput{err}
	}
	if err := s.prepare(cmd.Context()); err != nil {
		return err
	}
	lost := watchExport()
	if f.trace > 0 {
		if s.runner.Tracing, err = telemetry.Open(cmd.Context(), s.target); err != nil {
			return err
		}
	}
	opening := s.runner.Client.Meter().Count()
	result, failure := f.replay(cmd.Context(), stderr, s)
	if err := flush(s.runner.Tracing); err != nil {
		otel.Handle(err)
	}
	if last := lost.Load(); last != nil {
		fmt.Fprintf(stderr, "shopload: the receiver of traces %s: %s\n", s.target.OTLP, oneLine(*last))
	}
	figures := f.figures(s, result)
	figures.Priority = string(granted)
	figures.OpeningIn, figures.OpeningOut = opening.In, opening.Out
	if !f.warmup {
		if err := write(f.out, s.target.Topology, result.Rows, figures); err != nil {
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
	options := attack.Options{Drain: f.drain, Closed: f.loop()}
	_, length := options.Mode(s.tape)
	line := progress.Start(stderr, name, len(s.tape.Entries), length)
	defer line.Stop()
	options.Watch = line.Set
	if f.trace > 0 {
		options.Sampled = telemetry.Sample(s.tape.Header.Seed, len(s.tape.Entries), f.trace)
	}
	return attack.Replay(ctx, s.tape, s.runner, options)
}

func (f *replayFlags) figures(s setup, r attack.Result) record.Generator {
	g := record.Generator{
		Mode:          record.Open,
		Plan:          string(cmp.Or(s.target.Plan, target.Best)),
		TapeJourneys:  len(s.tape.Entries),
		Incomplete:    r.Interrupted || f.loop() == nil && len(r.Rows) < len(s.tape.Entries),
		Connections:   f.connections,
		Dialed:        s.runner.Client.Meter().Dialed(),
		HTTP:          s.target.HTTP,
		TapeSHA256:    s.tape.SHA256,
		Trace:         f.trace,
		SpansExported: s.runner.Tracing.Exported(),
		SpansDropped:  s.runner.Tracing.Dropped(),
		Topology:      s.target.Topology,
		Trial:         s.target.Trial,
	}
	if c := f.loop(); c != nil {
		g.Mode = record.Closed
		g.Closed = &record.ClosedLoop{
			VUs: c.VUs, ThinkS: c.Think.Seconds(), DurationS: c.Duration.Seconds(), TapeExhausted: len(r.Rows) == len(s.tape.Entries),
		}
	}
	g.Summarise(r.Rows, r.Usage)
	return g
}

// flush sends the last spans; the time for it does not depend on how the replay ended.
func flush(t *telemetry.Tracing) error {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	return t.Close(ctx)
}

// watchExport keeps the last error of the exporter, which would otherwise go to the standard log in the midst of a run.
func watchExport() *atomic.Pointer[error] {
	last := &atomic.Pointer[error]{}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { last.Store(&err) }))
	return last
}

func write(out, topology string, rows []record.Row, g record.Generator) error {
	if err := record.WriteRows(filepath.Join(out, "journeys.jsonl"), rows); err != nil {
		return err
	}
	if err := record.WriteVegeta(filepath.Join(out, "vegeta.gob"), topology, rows); err != nil {
		return err
	}
	return g.Write(filepath.Join(out, "generator.json"))
}

func report(cmd *cobra.Command, g record.Generator) error {
	if wantsJSON(cmd) {
		return printJSON(cmd.OutOrStdout(), g)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s loop: %d of %d journeys in %.1f s", g.Mode, g.Journeys, g.TapeJourneys, g.WallS)
	for _, class := range append([]outcome.Class{outcome.OK}, outcome.Failures()...) {
		if count := g.Outcomes[string(class)]; count > 0 {
			fmt.Fprintf(cmd.OutOrStdout(), ", %s %d", class, count)
		}
	}
	fmt.Fprintf(cmd.OutOrStdout(), "; start lag p50 %.0f µs, p99 %.0f µs; CPU %.2f s; spans %d sent, %d lost\n",
		g.StartLagP50Us, g.StartLagP99Us, g.CPUS, g.SpansExported, g.SpansDropped)
	return err
}
