package priority

import (
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// minRealtime runs before all ordinary processes and after all other real-time processes.
	minRealtime = 1
	// slice is the shortest time slice that Linux accepts. A process with a short slice need not wait until others have
	// used up their slices, which are about 3 ms long. Since Linux 6.12, every user may request a short slice.
	slice = 100 * time.Microsecond
)

// set gives every thread of this process a priority; threads that start later inherit it.
func set(w Wish) error {
	attributes := unix.SchedAttr{Policy: unix.SCHED_RR, Priority: minRealtime}
	if w == Prompt {
		attributes = unix.SchedAttr{Policy: unix.SCHED_NORMAL, Runtime: uint64(slice)}
	}
	// Done twice, because a thread that had not been changed yet may have started another thread meanwhile.
	for range 2 {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil {
				continue
			}
			if err := unix.SchedSetAttr(id, &attributes, 0); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
	return verify(attributes)
}

// verify returns an error if the system has ignored the request, as an older Linux does with time slices.
func verify(asked unix.SchedAttr) error {
	has, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return err
	}
	if has.Policy != asked.Policy || has.Runtime != asked.Runtime {
		return errors.ErrUnsupported
	}
	return nil
}
