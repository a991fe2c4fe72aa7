// Package progress prints the progress of a run for people.
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
	logInterval      = 20 * time.Second
)

// Line prints a line of progress periodically: in place on a terminal, elsewhere as lines of a log.
type Line struct {
	out      io.Writer
	what     string
	total    int
	state    func() string // nil for journeys
	ends     time.Time
	terminal bool
	sent     atomic.Int64
	failed   atomic.Int64
	quit     chan struct{}
	done     sync.WaitGroup
}

// Start begins to print the number of sent journeys; length is the expected duration of the run.
func Start(out *os.File, what string, total int, length time.Duration) *Line {
	return open(out, &Line{what: what, total: total}, length)
}

// Of begins to print the texts that state returns.
func Of(out *os.File, what string, state func() string, length time.Duration) *Line {
	return open(out, &Line{what: what, state: state}, length)
}

func open(out *os.File, l *Line, length time.Duration) *Line {
	terminal := term.IsTerminal(int(out.Fd()))
	interval := logInterval
	if terminal {
		interval = terminalInterval
	}
	return start(out, l, length, terminal, interval)
}

func start(out io.Writer, l *Line, length time.Duration, terminal bool, interval time.Duration) *Line {
	l.out, l.ends, l.terminal, l.quit = out, time.Now().Add(length), terminal, make(chan struct{})
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

func (l *Line) Set(sent, failed int64) {
	l.sent.Store(sent)
	l.failed.Store(failed)
}

// Stop prints the last state, clears the line if it is on a terminal, and ends.
func (l *Line) Stop() {
	close(l.quit)
	l.done.Wait()
	l.print()
	if l.terminal {
		fmt.Fprint(l.out, "\r\x1b[K") // only clears the line, because the command prints its result itself
	}
}

func (l *Line) print() {
	left := max(time.Until(l.ends), 0).Round(time.Second)
	state := fmt.Sprintf("%d of %d journeys sent, %d failed", l.sent.Load(), l.total, l.failed.Load())
	if l.state != nil {
		state = l.state()
	}
	text := fmt.Sprintf("%s: %s, %v left", l.what, state, left)
	if l.terminal {
		fmt.Fprintf(l.out, "\r\x1b[K%s", text)
		return
	}
	fmt.Fprintln(l.out, text)
}
