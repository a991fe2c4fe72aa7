package attack

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

const MaxVUs = 10_000

// Closed is a closed loop: virtual users take the journeys in the order of the tape, and ignore their arrival times.
// Each user sends the next journey once its previous journey has been answered and it has thought.
//
// Users with a think time start one after another, spread evenly over the first think time. Later think times are drawn
// from the exponential distribution, the same in every replay. With constant think times, users who once waited in the
// same queue would send their journeys in waves from then on. Users without a think time start together.
//
// With steps, the number of users varies: each step is an equal part of the duration, with its share of the users.
//
// A slow shop gets less load in a closed loop, so its latencies cannot be compared with those of an open loop.
type Closed struct {
	VUs      int
	Think    time.Duration // mean pause between an answer and the same user's next journey
	Duration time.Duration // time during which journeys start
	Steps    []float64     // share of the users in each part of the duration; empty for all users throughout
}

// Check returns an error that names the first invalid value, and what would be valid.
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

// loop lets each user send, then think, until the duration is over, the context ends, or send returns false.
func (c Closed) loop(ctx context.Context, send func() bool) {
	begin := time.Now()
	end := begin.Add(c.Duration)
	limited, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	var users sync.WaitGroup
	for user := range c.VUs {
		users.Go(func() {
			thoughts := rand.New(rand.NewPCG(0, uint64(user)))
			sleep(limited, c.Think/time.Duration(c.VUs)*time.Duration(user))
			for c.enter(limited, begin, user) && time.Now().Before(end) && send() {
				sleep(limited, time.Duration(thoughts.ExpFloat64()*float64(c.Think)))
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
