package timer

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Timer waits more precisely than the runtime's own timers, which may be up to 1 ms late on Linux because epoll takes
// its time-out in milliseconds. A timerfd expires precisely to the microsecond, and wakes the poller at once, without a
// separate thread.
type Timer struct {
	file *os.File
	fd   int // file.Fd() would make it blocking
	buf  [8]byte
}

// New returns a timer that is not set.
func New() (*Timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timerfd: %w", err)
	}
	return &Timer{file: os.NewFile(uintptr(fd), "timerfd"), fd: fd}, nil
}

// Set makes the timer expire after the duration, which replaces an earlier time, even during a wait.
func (t *Timer) Set(d time.Duration) error {
	expiry := unix.ItimerSpec{Value: unix.NsecToTimespec(max(d, 1).Nanoseconds())} // 0 would disarm it
	if err := unix.TimerfdSettime(t.fd, 0, &expiry, nil); err != nil {
		return fmt.Errorf("timerfd: %w", err)
	}
	return nil
}

// Expired returns once the timer has expired, or with an error if the timer is interrupted or closed.
func (t *Timer) Expired() error {
	_, err := t.file.Read(t.buf[:])
	return err
}

// Interrupt ends the current wait and all later waits.
func (t *Timer) Interrupt() { _ = t.file.SetReadDeadline(time.Now()) }

// Close ends all waits and frees the timer.
func (t *Timer) Close() { _ = t.file.Close() }
