package timer

import (
	"testing"
	"time"
)

// The timer is late by far less than the millisecond by which the runtime's own timers may be late.
func BenchmarkTimerLag(b *testing.B) {
	timer, err := New()
	if err != nil {
		b.Fatal(err)
	}
	defer timer.Close()
	var late time.Duration
	for range b.N {
		due := time.Now().Add(3 * time.Millisecond)
		if err := timer.Wait(time.Until(due)); err != nil {
			b.Fatal(err)
		}
		late += time.Since(due)
	}
	b.ReportMetric(float64(late.Microseconds())/float64(b.N), "µs-late/op")
}
