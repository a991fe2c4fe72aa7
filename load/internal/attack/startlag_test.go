package attack

import (
	"context"
	"slices"
	"testing"
	"time"

	"hopwise/load/internal/journey"
	"hopwise/load/internal/link"
	"hopwise/load/internal/target"
	"hopwise/load/tests/shoptest"
)

// The start lag and the generator's CPU time at 50 journeys per second, with the shop in the same process, with and
// without an emulated network:
//
//	go test -run '^$' -bench StartLag -benchtime 1x ./internal/attack
func BenchmarkStartLag(b *testing.B) {
	made := makeTape(b, 50, 10*time.Second)
	for name, open := range map[string]func(testing.TB, target.Target, []journey.Entry) *Runner{
		"shared": prepare,
		"emulated": func(t testing.TB, at target.Target, e []journey.Entry) *Runner {
			return distant(t, at, e, link.Warm, 100)
		},
	} {
		b.Run(name, func(b *testing.B) {
			runner := open(b, shoptest.Start(b).Target(b, target.GraphQL, 2), made.Entries)
			var lags []int64
			var cpu time.Duration
			for range b.N {
				result, err := Replay(context.Background(), made, runner, Options{Drain: patience})
				if err != nil {
					b.Fatal(err)
				}
				for _, row := range result.Rows {
					lags = append(lags, row.StartedNs-row.IntendedNs)
				}
				cpu += result.Usage.CPU
			}
			slices.Sort(lags)
			b.ReportMetric(float64(lags[len(lags)/2])/1e3, "p50-µs")
			b.ReportMetric(float64(lags[len(lags)*99/100])/1e3, "p99-µs")
			b.ReportMetric(float64(lags[len(lags)-1])/1e3, "max-µs")
			b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s")
		})
	}
}
