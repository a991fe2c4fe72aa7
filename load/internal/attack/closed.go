package attack

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"
)

// MaxVUs is the maximum number of virtual users of a closed loop.
const MaxVUs = 10_000

// Closed is a closed loop: virtual users take the journeys of the tape in its order, and ignore their times. Each user
// sends the next journey once the last one is answered and a time to think has passed.
//
// Users with a time to think start one after another, spread evenly over the first time to think. If they started
// together, they would send their journeys in waves for the whole loop. Users without a time to think start together.
//
// With steps, the number of users varies: each step is an equal part of the duration, with its share of the users.
//
// A slow shop gets less load in a closed loop, so latencies cannot be compared with an open loop's.
type Closed struct {
	VUs      int
	Think    time.Duration // pause between an answer and the same user's next journey
	Duration time.Duration // time during which journeys start
	Steps    []float64     // share of the users in each part of the duration; empty for all users throughout
}

// Check returns an error that names the first invalid value, and what is valid.
func (c Closed) Check() error {
	switch {
	case c.VUs < 1 || c.VUs > MaxVUs:
		return fmt.Errorf("vus %d is not between 1 and %d", c.VUs, MaxVUs)
	case c.Think < 0:
		return fmt.Errorf("think %v is negative", c.Think)
	case c.Duration <= 0:
		return fmt.Errorf("duration %v is not above 0", c.Duration)
	}
	for _, share := range c.Steps {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("steps %v has %v, which is not between 0 and 1", c.Steps, share)
		}
	}
	return nil
}

// loop lets each user call send repeatedly, with the time to think in between, until the time is over, the context
// ends, or send returns false.
func (c Closed) loop(ctx context.Context, send func() bool) {
	begin := time.Now()
	end := begin.Add(c.Duration)
	limited, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	var users sync.WaitGroup
	for user := range c.VUs {
		users.Go(func() {
			sleep(limited, c.Think/time.Duration(c.VUs)*time.Duration(user))
			for c.enter(limited, begin, user) && time.Now().Before(end) && send() {
				sleep(limited, c.Think)
			}
		})
	}
	users.Wait()
}

// enter waits for a step that includes the user, and returns false if the context ends first.
func (c Closed) enter(limited context.Context, begin time.Time, user int) bool {
	for step, share := range c.Steps {
		left := time.Until(begin.Add(c.Duration * time.Duration(step+1) / time.Duration(len(c.Steps))))
		if left > 0 && user < int(math.Round(share*float64(c.VUs))) {
			break
		}
		sleep(limited, left)
	}
	return limited.Err() == nil
}
