package cli

import (
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hopwise/load/internal/link"
)

// networkRow is a network as users and programs read it.
type networkRow struct {
	Name     link.Name `json:"name"`
	RTTMs    float64   `json:"rtt_ms"`
	DownMbit *float64  `json:"down_mbit"` // null for no limit
	UpMbit   *float64  `json:"up_mbit"`
	Source   string    `json:"source"`
}

func newNetworks() *cobra.Command {
	return &cobra.Command{
		Use:   "networks",
		Short: "Lists the networks between customers and edge that have a name, and where their figures come from",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var rows []networkRow
			for _, n := range link.AllNamed() {
				rows = append(rows, networkRow{n.Name, n.RTT.Seconds() * 1e3, mbit(n.Down), mbit(n.Up), n.Source})
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), rows)
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "network\trtt ms\tdown Mbit/s\tup Mbit/s\tsource")
			for _, row := range rows {
				fmt.Fprintf(table, "%s\t%g\t%s\t%s\t%s\n", row.Name, row.RTTMs, limit(row.DownMbit), limit(row.UpMbit), row.Source)
			}
			return table.Flush()
		},
	}
}

func mbit(bits int64) *float64 {
	if bits == 0 {
		return nil
	}
	rate := float64(bits) / 1e6
	return &rate
}

func limit(mbit *float64) string {
	if mbit == nil {
		return "no limit"
	}
	return strconv.FormatFloat(*mbit, 'g', -1, 64)
}
