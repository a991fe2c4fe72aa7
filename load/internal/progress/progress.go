// Package progress tells a waiting person how far a run has come.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

const (
	terminalInterval = time.Second
	logInterval      = 5 * time.Second
)

// Line prints a line of progress now and then: in place on a terminal, as lines of a log elsewhere.
type Line struct {
	out      io.Writer
	what     string
	total    int
	ends     time.Time
	terminal bool
	sent     atomic.Int64
	failed   atomic.Int64
	quit     chan struct{}
	done     sync.WaitGroup
}

// Start begins to print; length is how long the run is expected to take.
func Start(out *os.File, what string, total int, length time.Duration) *Line {
	terminal := term.IsTerminal(int(out.Fd()))
	interval := logInterval
	if terminal {
		interval = terminalInterval
	}
	return start(out, what, total, length, terminal, interval)
}

func start(out io.Writer, what string, total int, length time.Duration, terminal bool, interval time.Duration) *Line {
	l := &Line{out: out, what: what, total: total, ends: time.Now().Add(length), terminal: terminal, quit: make(chan struct{})}
	l.done.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				l.print()
			case <-l.quit:
				return
			}
		}
	})
	return l
}

// Set says how many journeys were sent and how many of them failed.
func (l *Line) Set(sent, failed int64) {
	l.sent.Store(sent)
	l.failed.Store(failed)
}

// Stop prints the last state and ends.
func (l *Line) Stop() {
	close(l.quit)
	l.done.Wait()
	l.print()
	if l.terminal {
		fmt.Fprintln(l.out)
	}
}

func (l *Line) print() {
	left := max(time.Until(l.ends), 0).Round(time.Second)
	text := fmt.Sprintf("%s: %d of %d journeys sent, %d failed, %v left", l.what, l.sent.Load(), l.total, l.failed.Load(), left)
	if l.terminal {
		fmt.Fprintf(l.out, "\r\x1b[K%s", text)
		return
	}
	fmt.Fprintln(l.out, text)
}
