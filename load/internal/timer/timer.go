// Package timer waits more precisely than the runtime's own timers do on Linux.
package timer

import "time"

// Wait returns after the duration, or with an error if the timer is interrupted or closed.
func (t *Timer) Wait(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	if err := t.Set(d); err != nil {
		return err
	}
	return t.Expired()
}
