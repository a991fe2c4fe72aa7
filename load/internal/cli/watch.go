package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"hopwise/load/internal/progress"
	"hopwise/load/internal/session"
	"hopwise/load/internal/tape"
	"hopwise/load/internal/target"
	"hopwise/load/internal/telemetry"
	"hopwise/load/internal/watch"
)

const defaultInterval = 5 * time.Second

type watchFlags struct {
	tapePath, targetPath, way, channel string
	watchers                           int
	options                            watch.Options
}

// allOpen is what the command watch prints once every customer waits for updates; the caller can then start the load.
type allOpen struct {
	Event    string  `json:"event"`
	Watchers int     `json:"watchers"`
	OpenedS  float64 `json:"opened_s"`
}

func newWatch(stderr *os.File) *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch --tape FILE --target FILE --watchers N --way push|poll --duration D --out DIR",
		Short: "Simulates customers who wait for updates of their orders while the tape is replayed elsewhere",
		Long: `Simulates N customers who wait for updates of their orders while another process replays the tape. Customers who place an
order on the tape are taken first. Once all watchers are waiting, it prints {"event":"open",...}. After the duration it writes:

  DIR/updates.jsonl  a line per update that reached a customer: when the order changed, when the update arrived, and
                     the context of its trace, whose root span goes to the target's receiver of traces
  DIR/watchers.json  figures: repeated and missed updates, reconnects and failed polls by cause, bytes, CPU, memory

Watchers use the protocol of their channel: grpc, rest or graphql. With push, gRPC clients open a server stream, REST clients a stream
of server-sent events, and GraphQL clients a subscription: over a WebSocket (graphql-transport-ws) with HTTP/1.1, otherwise as server-sent
events (graphql-sse). When a stream ends, clients pause for a random time, then reopen it from the last position. With poll, each client lists its
updates once per interval, and the polls are spread evenly over the interval; REST clients poll with If-None-Match.

Each watcher has a separate connection, unless --connections sets a number of shared connections.`,
		Example: "  shopload watch --tape tape.jsonl --target target.json --watchers 1000 --way push --duration 70s --out results/watch",
	}
	flags := cmd.Flags()
	flags.StringVar(&f.tapePath, "tape", "", `tape file, made by "shopload tape"; may be compressed with gzip`)
	flags.StringVar(&f.targetPath, "target", "", "target file (JSON) with the entries of the topology")
	flags.StringVar(&f.options.Out, "out", "", "folder to write to")
	flags.StringVar(&f.way, "way", "", "how customers get updates: push (a stream that stays open) or poll (a request every interval)")
	flags.StringVar(&f.channel, "channel", string(target.Web), "channel of the customers: web, mobile or partner")
	flags.IntVar(&f.watchers, "watchers", 0, "number of customers who watch")
	flags.IntVar(&f.options.Connections, "connections", 0, "number of connections that all watchers share; 0 for one each")
	flags.DurationVar(&f.options.Interval, "interval", defaultInterval, "time between two polls of a watcher; needs --way poll")
	flags.DurationVar(&f.options.Duration, "duration", 0, "how long customers watch, counted from when all of them do")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		crowd, err := f.open(cmd)
		if err != nil {
			return err
		}
		return f.run(cmd, stderr, crowd)
	}
	return cmd
}

// open selects the watchers, and connects to the receiver of traces if the target has one.
func (f *watchFlags) open(cmd *cobra.Command) (*watch.Crowd, error) {
	at, err := f.read(cmd)
	if err != nil {
		return nil, badInput{err}
	}
	if at.OTLP != "" {
		if f.options.Tracing, err = telemetry.Open(cmd.Context(), at); err != nil {
			return nil, err
		}
	}
	crowd, err := watch.NewCrowd(at, f.options)
	if err != nil {
		return nil, badInput{err}
	}
	return crowd, nil
}

// read reads the tape, the target and the signing key, and selects the watchers; every error is bad input.
func (f *watchFlags) read(cmd *cobra.Command) (at target.Target, err error) {
	if err := f.check(cmd); err != nil {
		return at, err
	}
	read, err := tape.Read(f.tapePath)
	if err != nil {
		return at, err
	}
	if at, err = target.Read(f.targetPath); err != nil {
		return at, err
	}
	key, err := session.ReadKey(at.JWTPrivateKey)
	if err != nil {
		return at, err
	}
	users, err := watch.Customers(read, f.watchers)
	if err != nil {
		return at, err
	}
	for _, user := range users {
		token, err := session.Customer(key, user, time.Now())
		if err != nil {
			return at, err
		}
		f.options.Customers = append(f.options.Customers, watch.Customer{UserID: user, Token: token})
	}
	return at, os.MkdirAll(f.options.Out, 0o755)
}

func (f *watchFlags) check(cmd *cobra.Command) error {
	if err := requireFlags(cmd, "tape", "target", "way", "out"); err != nil {
		return err
	}
	f.options.Way, f.options.Channel = watch.Way(f.way), target.Channel(f.channel)
	if err := f.options.Way.Check(); err != nil {
		return err
	}
	switch {
	case f.options.Duration <= 0:
		return fmt.Errorf("--duration %v is not above 0", f.options.Duration)
	case f.options.Interval <= 0:
		return fmt.Errorf("--interval %v is not above 0", f.options.Interval)
	case f.options.Way != watch.Poll && cmd.Flags().Changed("interval"):
		return fmt.Errorf("--interval needs --way %s", watch.Poll)
	}
	return nil
}

func (f *watchFlags) run(cmd *cobra.Command, stderr *os.File, crowd *watch.Crowd) error {
	var line *progress.Line
	figures, err := crowd.Run(cmd.Context(), func(seconds float64) error {
		line = progress.Of(stderr, "watch", crowd.Progress, f.options.Duration)
		return printJSON(cmd.OutOrStdout(), allOpen{"open", f.watchers, seconds})
	})
	if line != nil {
		line.Stop()
		flushing, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), flushTimeout)
		defer cancel()
		if err := f.options.Tracing.Close(flushing); err != nil {
			fmt.Fprintln(stderr, "shopload: roots of traces were lost:", oneLine(err))
		}
		if err := f.report(cmd, figures); err != nil {
			return err
		}
	}
	if cmd.Context().Err() != nil {
		return errInterrupted
	}
	return err
}

func (f *watchFlags) report(cmd *cobra.Command, g watch.Figures) error {
	if wantsJSON(cmd) {
		return printJSON(cmd.OutOrStdout(), g)
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	row := func(name, format string, values ...any) { fmt.Fprintf(table, name+"\t"+format+"\n", values...) }
	row("watchers", "%d (%s over %s), all open after %.1f s", g.Watchers, g.Way, g.Protocol, g.OpenedS)
	row("updates", "%d in %.1f s, %d of them repeated; %d missed", g.Updates, g.OpenS, g.Repeated, g.Missed)
	if g.Way == watch.Poll {
		row("polls", "%d, one every %v; failed: %s", g.Polls, f.options.Interval, byCause(g.FailedPolls))
	} else {
		row("reconnects", "%s; the longest took %.1f s", byCause(g.Reconnects), g.LongestReconnectS)
	}
	row("connections", "%d, %d times opened", g.Connections, g.Dialed)
	row("bytes", "%d received, %d sent", g.BytesIn, g.BytesOut)
	row("this process", "CPU %.2f s, memory %d MB", g.CPUS, g.MaxRSSBytes/1e6)
	return table.Flush()
}

func byCause(counts map[string]int) string {
	if len(counts) == 0 {
		return "none"
	}
	causes := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return counts[b] - counts[a] })
	for i, cause := range causes {
		causes[i] = fmt.Sprintf("%s %d", cause, counts[cause])
	}
	return strings.Join(causes, ", ")
}
