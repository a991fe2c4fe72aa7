//go:build !linux

package timer

import (
	"os"
	"sync"
	"time"
)

// Timer waits with the runtime's timers, which are precise enough outside of Linux.
type Timer struct {
	timer       *time.Timer
	once        sync.Once
	interrupted chan struct{}
}

// New returns a timer that is not set.
func New() (*Timer, error) {
	t := &Timer{timer: time.NewTimer(time.Hour), interrupted: make(chan struct{})}
	t.timer.Stop()
	return t, nil
}

// Set makes the timer expire after the duration, which replaces an earlier time, even during a wait.
func (t *Timer) Set(d time.Duration) error {
	t.timer.Reset(d)
	return nil
}

// Expired returns once the timer has expired, or with an error if the timer is interrupted or closed.
func (t *Timer) Expired() error {
	select {
	case <-t.timer.C:
		return nil
	case <-t.interrupted:
		return os.ErrDeadlineExceeded
	}
}

// Interrupt ends the current wait and all later waits.
func (t *Timer) Interrupt() { t.once.Do(func() { close(t.interrupted) }) }

// Close ends all waits and frees the timer.
func (t *Timer) Close() {
	t.timer.Stop()
	t.Interrupt()
}
