package attack

import (
	"context"
	"slices"
	"testing"
	"time"

	"hopwise/load/internal/target"
	"hopwise/load/tests/shoptest"
)

// The start lag and the generator's CPU time at 50 journeys a second, the shop being in the same process:
//
//	go test -run '^$' -bench StartLag -benchtime 1x ./internal/attack
func BenchmarkStartLag(b *testing.B) {
	shop := shoptest.Start(b)
	made := makeTape(b, 50, 10*time.Second)
	runner := prepared(b, shop.Target(b, target.GraphQL, 2), made.Entries)
	var lags []int64
	for range b.N {
		result, err := Replay(context.Background(), made, runner, Options{Drain: patience})
		if err != nil {
			b.Fatal(err)
		}
		for _, row := range result.Rows {
			lags = append(lags, row.StartedNs-row.IntendedNs)
		}
	}
	slices.Sort(lags)
	b.ReportMetric(float64(lags[len(lags)/2])/1e3, "p50-µs")
	b.ReportMetric(float64(lags[len(lags)*99/100])/1e3, "p99-µs")
	b.ReportMetric(float64(lags[len(lags)-1])/1e3, "max-µs")
}
