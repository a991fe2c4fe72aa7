package priority

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// lowestRealtime goes before all ordinary processes and after everything else that is real-time.
const lowestRealtime = 1

// raise gives every thread of this process a real-time priority; threads that start later inherit it.
func raise() error {
	attributes := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: lowestRealtime}
	// Twice, because a thread that was not raised yet may have started another one meanwhile.
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
			if err := unix.SchedSetAttr(id, attributes, 0); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
	return nil
}
