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

// Users who waited in the same queue do not come back in the same wave, and the mean of their think times is the requested
// one.
func TestUsersWhoThinkDoNotSendInWaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const users, think, interval, intervals = 100, 200 * time.Millisecond, 5 * time.Millisecond, 4000
		began := time.Now()
		turn := make(chan struct{}, 1) // a mutex would stop the bubble's clock
		counts := make([]float64, intervals+1)
		Closed{VUs: users, Think: think, Duration: intervals * interval}.loop(t.Context(), func() bool {
			turn <- struct{}{}
			defer func() { <-turn }()
			place := time.Since(began) / interval
			counts[place]++
			if place%200 == 0 {
				time.Sleep(40 * time.Millisecond) // a stall that collects a fifth of the users
			}
			time.Sleep(100 * time.Microsecond)
			return true
		})
		sum, squares := 0.0, 0.0
		for _, count := range counts {
			sum, squares = sum+count, squares+count*count
		}
		mean := sum / intervals
		if perUser := sum / users / (intervals * interval).Seconds(); perUser < 4.8 || perUser > 5.2 {
			t.Errorf("%.2f journeys per user and second", perUser)
		}
		if dispersion := (squares/intervals - mean*mean) / mean; dispersion > 2 { // 1 if users are independent
			t.Errorf("the number of journeys in an interval has %.2f times the variance of independent users", dispersion)
		}
	})
}
