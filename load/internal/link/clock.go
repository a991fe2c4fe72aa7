package link

import (
	"container/heap"
	"sync"
	"time"

	"hopwise/load/internal/timer"
)

// Clock wakes all goroutines that wait for data to come out of a link, with one precise timer for all of them.
type Clock struct {
	timer  *timer.Timer
	ended  chan struct{}
	mu     sync.Mutex
	alarms alarms
	closed bool
}

func NewClock() (*Clock, error) {
	precise, err := timer.New()
	if err != nil {
		return nil, err
	}
	c := &Clock{timer: precise, ended: make(chan struct{})}
	go c.run()
	return c, nil
}

// Close stops the clock; data still in a link comes out at once.
func (c *Clock) Close() {
	c.mu.Lock()
	c.closed = true
	for _, a := range c.alarms {
		a.place = -1
		close(a.rung)
	}
	c.alarms = nil
	c.mu.Unlock()
	c.timer.Interrupt()
	<-c.ended
	c.timer.Close()
}

// lead is how long before an exact alarm the timer expires; the remaining time is spent in a busy wait. An idle
// processor takes 0.05 to 0.2 ms to wake up, which would delay data from a link.
const lead = 100 * time.Microsecond

func (c *Clock) run() {
	defer close(c.ended)
	for c.timer.Expired() == nil {
		for at, near := c.ring(); near; at, near = c.ring() {
			for time.Now().Before(at) {
			}
		}
	}
}

// ring rings the due alarms, and returns the time of the next alarm, and whether it is too near for the timer.
func (c *Clock) ring() (at time.Time, near bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for len(c.alarms) > 0 && !c.alarms[0].wake.After(now) {
		if c.alarms[0].at.After(now) {
			return c.alarms[0].at, true
		}
		close(heap.Pop(&c.alarms).(*alarm).rung)
	}
	c.arm()
	return now, false
}

func (c *Clock) arm() {
	if len(c.alarms) > 0 {
		_ = c.timer.Set(time.Until(c.alarms[0].wake)) // fails only if the timer is closed
	}
}

// until waits for the instant. If exact is set, it ends precisely then, at the cost of processor time. It returns false
// if one of the channels is closed first; nil channels are ignored.
func (c *Clock) until(at time.Time, exact bool, closed, expired <-chan struct{}) bool {
	a := &alarm{at: at, wake: at, rung: make(chan struct{})}
	if exact {
		a.wake = at.Add(-lead)
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return true
	}
	heap.Push(&c.alarms, a)
	if a.place == 0 {
		c.arm()
	}
	c.mu.Unlock()
	select {
	case <-a.rung:
		return true
	case <-closed:
	case <-expired:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.place >= 0 {
		heap.Remove(&c.alarms, a.place)
	}
	return false
}

type alarm struct {
	at    time.Time
	wake  time.Time // when the timer expires for this alarm
	rung  chan struct{}
	place int // place in the heap; negative once it has rung or was cancelled
}

type alarms []*alarm

var _ heap.Interface = (*alarms)(nil)

func (a alarms) Len() int           { return len(a) }
func (a alarms) Less(i, j int) bool { return a[i].wake.Before(a[j].wake) }

func (a alarms) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}

func (a *alarms) Push(x any) {
	added := x.(*alarm)
	added.place = len(*a)
	*a = append(*a, added)
}

func (a *alarms) Pop() any {
	last := len(*a) - 1
	popped := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	popped.place = -1
	return popped
}
