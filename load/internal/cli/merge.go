package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"hopwise/load/internal/record"
)

func newMerge() *cobra.Command {
	var (
		parts []string
		out   string
	)
	cmd := &cobra.Command{
		Use:   "merge --part DIR --part DIR --out DIR",
		Short: "Joins the results of several generators that replayed the shards of one tape",
		Long: `Joins the folders of "shopload replay --shard I/N" for every I into one folder, as if one generator had replayed the whole
tape: journeys.jsonl and vegeta.gob have all journeys in order of seq, generator.json has their digest, the sums of CPU, bytes, connections and spans,
and each generator's own figures under "shards".

The shards must belong to one replay: the same tape, topology and trial, each shard once, each journey sent. Otherwise nothing is
written.`,
		Example: "  shopload merge --part results/shard-0 --part results/shard-1 --out results/run",
	}
	cmd.Flags().StringArrayVar(&parts, "part", nil, "folder of one shard's replay; given once for each shard")
	cmd.Flags().StringVar(&out, "out", "", "folder to write to")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if len(parts) == 0 {
			return badInput{fmt.Errorf("--part is missing; see %s --help", cmd.CommandPath())}
		}
		if err := requireFlags(cmd, "out"); err != nil {
			return err
		}
		rows, figures, err := record.Merge(parts)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(out, 0o755); err != nil {
			return badInput{err}
		}
		if err := record.Write(out, rows, figures); err != nil {
			return err
		}
		return report(cmd, figures)
	}
	return cmd
}
