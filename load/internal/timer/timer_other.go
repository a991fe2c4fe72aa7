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

func New() (*Timer, error) {
	t := &Timer{timer: time.NewTimer(time.Hour), interrupted: make(chan struct{})}
	t.timer.Stop()
	return t, nil
}

func (t *Timer) Set(d time.Duration) error {
	t.timer.Reset(d)
	return nil
}

func (t *Timer) Expired() error {
	select {
	case <-t.timer.C:
		return nil
	case <-t.interrupted:
		return os.ErrDeadlineExceeded
	}
}

func (t *Timer) Interrupt() { t.once.Do(func() { close(t.interrupted) }) }

func (t *Timer) Close() {
	t.timer.Stop()
	t.Interrupt()
}
