package attack

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Each step has its number of users, and users who left come back. The bubble's clock needs no quiet machine.
func TestUsersComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const users, step = 8, 300 * time.Millisecond
		shares := []float64{0, 0.25, 1, 0.25, 0.5}
		loop := Closed{VUs: users, Duration: time.Duration(len(shares)) * step, Steps: shares}
		var under atomic.Int64
		var all sync.WaitGroup
		all.Go(func() {
			loop.loop(t.Context(), func() bool {
				under.Add(1)
				time.Sleep(7 * time.Millisecond)
				under.Add(-1)
				return true
			})
		})
		var there []int64
		time.Sleep(step / 2)
		for range shares {
			there = append(there, under.Load())
			time.Sleep(step)
		}
		all.Wait()
		if !slices.Equal(there, []int64{0, 2, 8, 2, 4}) || under.Load() != 0 {
			t.Errorf("users under way in the middle of each step: %v", there)
		}
	})
}
