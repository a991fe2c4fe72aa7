package record

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// peakMemory returns the peak memory of this program, in bytes.
//
// The kernel does not reset ru_maxrss on exec, so it may be the memory of the process which started this program.
func peakMemory(used syscall.Rusage) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return used.Maxrss * 1024
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == "VmHWM:" && fields[2] == "kB" {
			if kib, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				return kib * 1024
			}
		}
	}
	return used.Maxrss * 1024
}
