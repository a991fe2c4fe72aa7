package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hopwise/load/internal/atomicfile"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/need"
	"hopwise/load/internal/progress"
	"hopwise/load/internal/record"
)

// sampleLine is one line of the file of answers: a journey's row, and figures that only a single journey allows.
type sampleLine struct {
	record.Row
	Params  journey.Params  `json:"params"`
	Answer  json.RawMessage `json:"answer"`   // canonical answer; null for a failure
	WireIn  int64           `json:"wire_in"`  // every byte received on the connections, headers and framing included
	WireOut int64           `json:"wire_out"` // every byte sent
	*need.Beyond
}

// Window updates, pings and their acknowledgements follow an answer within a round trip, and belong to the journey.
const (
	settleQuiet = 3 * time.Millisecond
	settleQUIC  = 30 * time.Millisecond // an acknowledgement may be delayed by 25 ms (RFC 9000, 18.2)
	settleLimit = 100 * time.Millisecond
)

type sampleSummary struct {
	Path     string         `json:"path"`
	Journeys int            `json:"journeys"`
	Outcomes map[string]int `json:"outcomes"`
}

func newSample(stderr *os.File) *cobra.Command {
	var (
		c    common
		each bool
	)
	cmd := &cobra.Command{
		Use:   "sample --tape FILE --target FILE --out FILE",
		Short: "Sends a tape's journeys one after the other and writes their answers",
		Long: `Sends the journeys of a tape one after the other, without traces, and writes a line per journey with its answer in
canonical form, so that topologies can be compared, and with its cost: requests, and bytes on the wire. Because each
journey has the connections to itself, every byte that crosses them until they are quiet again belongs to that journey.`,
		Example: "  shopload sample --tape parity.jsonl --target target.json --out answers.jsonl",
	}
	c.register(cmd)
	cmd.Flags().StringVar(&c.out, "out", "", "file to write")
	cmd.Flags().BoolVar(&each, "each", false, "send only the first journey of each kind on each channel")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := requireFlags(cmd, "out"); err != nil {
			return err
		}
		s, err := c.read(cmd)
		if err != nil {
			return err
		}
		defer s.runner.Client.Close()
		if each {
			s.tape.Entries = firstOfEach(s.tape.Entries)
		}
		if err := s.prepare(cmd.Context()); err != nil {
			return err
		}
		return runSample(cmd, stderr, s, c.out)
	}
	return cmd
}

// firstOfEach returns the first journey of each kind on each channel.
func firstOfEach(entries []journey.Entry) (first []journey.Entry) {
	for _, entry := range entries {
		if !slices.ContainsFunc(first, func(e journey.Entry) bool { return e.Journey == entry.Journey && e.Channel == entry.Channel }) {
			first = append(first, entry)
		}
	}
	return first
}

func runSample(cmd *cobra.Command, stderr *os.File, s setup, out string) error {
	s.runner.Compares = true
	line := progress.Start(stderr, "sample", len(s.tape.Entries), 0)
	summary := sampleSummary{Path: out, Outcomes: map[string]int{}}
	failed := int64(0)
	meter := s.runner.Client.Meter()
	quiet := settleQuiet
	if s.target.HTTP == 3 {
		quiet = settleQUIC
	}
	before := meter.Settle(quiet, settleLimit) // opening the connections belongs to no journey
	err := atomicfile.WriteRows(out, func(add func(any) error) error {
		for i, entry := range s.tape.Entries {
			row, canonical := s.runner.Run(cmd.Context(), entry, time.Now(), false)
			if cmd.Context().Err() != nil {
				return errInterrupted
			}
			if canonical == nil {
				canonical = []byte("null")
				failed++
			}
			if s.runner.Steps != nil {
				canonical = s.runner.Steps.Secrets.HideInJSON(canonical)
			}
			after := meter.Settle(quiet, settleLimit)
			wire := after.Since(before)
			before = after
			row.Mode = record.Alone
			if err := add(sampleLine{row, entry.Params, canonical, wire.In, wire.Out, row.Beyond}); err != nil {
				return err
			}
			summary.Journeys++
			summary.Outcomes[string(row.Outcome)]++
			line.Set(int64(i+1), failed)
		}
		return nil
	})
	line.Stop()
	if err != nil {
		return err
	}
	if wantsJSON(cmd) {
		return printJSON(cmd.OutOrStdout(), summary)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d answers in %s, %d failed\n", summary.Journeys, out, failed)
	return err
}
