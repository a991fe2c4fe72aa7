//go:build !linux

package record

import (
	"runtime"
	"syscall"
)

// peakMemory returns the peak memory of this process, in bytes; macOS counts in bytes, other systems in KiB.
func peakMemory(used syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" {
		return used.Maxrss
	}
	return used.Maxrss * 1024
}
