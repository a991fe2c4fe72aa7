package link

import (
	"sync"
	"time"
)

// deadline is a channel that closes once the time has passed, also for goroutines that waited before it was set.
type deadline struct {
	mu      sync.Mutex
	timer   *time.Timer
	expired chan struct{}
}

func (d *deadline) passed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.channel()
}

func (d *deadline) channel() chan struct{} {
	if d.expired == nil {
		d.expired = make(chan struct{})
	}
	return d.expired
}

// set replaces the time; the zero time means no deadline.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	expired := d.channel()
	if d.timer != nil && !d.timer.Stop() {
		<-expired // the timer's function is about to close it
	}
	if isClosed(expired) {
		expired = make(chan struct{})
		d.expired = expired
	}
	d.timer = nil
	switch left := time.Until(t); {
	case t.IsZero():
	case left <= 0:
		close(expired)
	default:
		d.timer = time.AfterFunc(left, func() { close(expired) })
	}
}

// isClosed tells whether a channel without senders is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
