package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hopwise/load/internal/choice"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/shopdata"
	"hopwise/load/internal/steps"
	"hopwise/load/internal/tape"
	"hopwise/load/internal/workload"
)

type tapeSummary struct {
	SHA256    string         `json:"sha256"`
	Path      string         `json:"path"`
	Journeys  int            `json:"journeys"`
	Mix       map[string]int `json:"mix"` // journeys by journey/channel
	Workload  string         `json:"workload"`
	Arrival   string         `json:"arrival"`
	Seed      uint64         `json:"seed"`
	Rate      float64        `json:"rate"`
	DurationS float64        `json:"duration_s"`
	Scale     int64          `json:"scale"`
	Pool      string         `json:"pool"`
	Payload   string         `json:"payload,omitempty"`
	Without   string         `json:"without,omitempty"`
}

func newTape() *cobra.Command {
	var (
		workloadPath, stepsPath, out, pool, payload, without string
		seed                                                 uint64
		rate                                                 float64
		duration                                             time.Duration
		scale                                                int64
		stairs                                               []float64
	)
	cmd := &cobra.Command{
		Use:   "tape --workload FILE --rate N --duration T --out FILE",
		Short: "Makes a tape from a workload file and a seed",
		Long: `Makes a tape: the fixed list of arrival time, journey, channel and parameters that every topology replays.

The same workload, seed, rate, duration, scale, pool, payload and --without give the same bytes on every machine. The file has a header line
and one line per journey, each a JSON object. A summary with the file's SHA-256 goes to stdout as one JSON object.`,
		Example: "  shopload tape --workload load/workloads/default.yaml --seed 1 --rate 20 --duration 60s --out tape.jsonl",
	}
	flags := cmd.Flags()
	flags.StringVar(&workloadPath, "workload", "", "workload file (YAML)")
	flags.StringVar(&stepsPath, "steps", "", "file with the steps of a target other than the shop, instead of --workload")
	flags.Uint64Var(&seed, "seed", 1, "seed of all random choices")
	flags.Float64Var(&rate, "rate", 20, "mean journeys per second")
	flags.DurationVar(&duration, "duration", 20*time.Second, "length of the tape")
	flags.Int64Var(&scale, "scale", 1, "scale of the seeded data")
	flags.StringVar(&pool, "pool", "", "which users and products journeys write to: trial or parity (default: the workload's)")
	flags.StringVar(&payload, "payload", "", fmt.Sprintf("size of the documents that journeys read: %s (default %s)", choice.List(shopdata.Payloads()), shopdata.DefaultPayload))
	flags.StringVar(&without, "without", "", "kind of journey to leave out; all others keep their numbers and times")
	flags.Float64SliceVar(&stairs, "stairs", nil, "rates of equally long steps, as multiples of --rate, instead of the workload's arrivals")
	flags.StringVar(&out, "out", "", "tape file to write")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		needed := []string{"workload", "out"}
		if stepsPath != "" {
			needed[0] = "steps"
		}
		if err := requireFlags(cmd, needed...); err != nil {
			return err
		}
		w, plan, err := journeysOf(workloadPath, stepsPath)
		if err != nil {
			return badInput{err}
		}
		if len(stairs) > 0 {
			if w.Arrival, err = workload.InStairs(stairs); err != nil {
				return badInput{err}
			}
		}
		t, err := tape.Build(tape.Spec{
			Workload: w, Seed: seed, Rate: rate, Duration: duration, Scale: shopdata.Scale(scale), Pool: shopdata.Pool(pool),
			Payload: shopdata.Payload(payload), Without: journey.Name(without), Steps: plan,
		})
		if err != nil {
			return badInput{err}
		}
		if err := t.Write(out); err != nil {
			return badInput{err}
		}
		return printJSON(cmd.OutOrStdout(), summarise(t, out))
	}
	return cmd
}

// journeysOf reads a workload, or derives it from the steps of a target other than the shop.
func journeysOf(workloadPath, stepsPath string) (w workload.Workload, plan *steps.Plan, err error) {
	if stepsPath == "" {
		w, err = workload.Load(workloadPath)
		return w, nil, err
	}
	if plan, err = steps.Read(stepsPath); err == nil {
		w, err = tape.WorkloadOf(plan)
	}
	return w, plan, err
}

func summarise(t *tape.Tape, path string) tapeSummary {
	s := tapeSummary{
		SHA256: t.SHA256, Path: path, Journeys: len(t.Entries), Mix: map[string]int{}, Workload: t.Header.Workload,
		Arrival: string(t.Header.Arrival), Seed: t.Header.Seed, Rate: t.Header.Rate,
		DurationS: time.Duration(t.Header.DurationNs).Seconds(), Scale: int64(t.Header.Scale), Pool: string(t.Header.Pool),
		Payload: string(t.Header.Payload), Without: string(t.Header.Without),
	}
	for _, entry := range t.Entries {
		s.Mix[string(entry.Journey)+"/"+string(entry.Channel)]++
	}
	return s
}
