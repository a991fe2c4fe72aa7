package attack

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// timer waits more precisely than the runtime's own timers, which may be up to 1 ms late on Linux because epoll takes its
// time-out in milliseconds. A timerfd expires to the microsecond and its expiry is an event that wakes the poller at once,
// without a thread of its own.
type timer struct {
	file *os.File
	fd   int // Fd() of the file would make it blocking
	buf  [8]byte
}

func newTimer() (*timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timerfd: %w", err)
	}
	return &timer{file: os.NewFile(uintptr(fd), "timerfd"), fd: fd}, nil
}

// wait returns after the duration, or at once if the timer is closed, before or meanwhile.
func (t *timer) wait(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	expiry := unix.ItimerSpec{Value: unix.NsecToTimespec(d.Nanoseconds())}
	if err := unix.TimerfdSettime(t.fd, 0, &expiry, nil); err != nil {
		return fmt.Errorf("timerfd: %w", err)
	}
	_, err := t.file.Read(t.buf[:])
	return err
}

func (t *timer) interrupt() { _ = t.file.SetReadDeadline(time.Now()) }

func (t *timer) close() { _ = t.file.Close() }
