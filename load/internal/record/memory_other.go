//go:build !linux

package record

import (
	"runtime"
	"syscall"
)

// peakMemory returns the most memory that this process has had, in bytes; macOS counts in bytes, others in KiB.
func peakMemory(used syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" {
		return used.Maxrss
	}
	return used.Maxrss * 1024
}
