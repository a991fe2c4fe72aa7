//go:build !linux

package attack

import (
	"os"
	"sync"
	"time"
)

// timer waits with the runtime's timers, which are precise enough outside of Linux.
type timer struct {
	once        sync.Once
	interrupted chan struct{}
}

func newTimer() (*timer, error) { return &timer{interrupted: make(chan struct{})}, nil }

// wait returns after the duration, or at once if the timer is interrupted, before or meanwhile.
func (t *timer) wait(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-t.interrupted:
		return os.ErrDeadlineExceeded
	}
}

func (t *timer) interrupt() { t.once.Do(func() { close(t.interrupted) }) }

func (t *timer) close() {}
