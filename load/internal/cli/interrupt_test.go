package cli

import (
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hopwise/load/internal/target"
	"hopwise/load/tests/shoptest"
)

// Ctrl-C stops a replay at once; the results so far are written and marked incomplete, and the exit code is 130.
func TestSignalStopsAReplay(t *testing.T) {
	shop := shoptest.Start(t)
	tapePath, _ := makeTape(t, "--duration", "60s")
	out := t.TempDir()
	var journeys atomic.Int64
	shop.Fault = func(_ http.ResponseWriter, r shoptest.Seen) bool {
		// The registration sends the texts of queries; the load itself sends hashes only.
		if !strings.Contains(string(r.Body), `"query"`) && journeys.Add(1) == 20 {
			_ = syscall.Kill(syscall.Getpid(), syscall.SIGINT)
		}
		return false
	}
	began := time.Now()
	code, _, stderr := run(t, "replay", "--tape", tapePath, "--target", writeTarget(t, shop.Target(t, target.GraphQL, 2)), "--out", out)
	if code != exitInterrupted || time.Since(began) > 30*time.Second {
		t.Fatalf("exit code %d after %v: %s", code, time.Since(began), stderr)
	}
	figures := figuresOf(t, out)
	if !figures.Incomplete || figures.Journeys == 0 || figures.Journeys >= figures.TapeJourneys {
		t.Errorf("figures %+v", figures)
	}
}

// interrupting is an output whose reader presses Ctrl-C.
type interrupting struct{}

func (interrupting) Write(p []byte) (int, error) {
	return len(p), syscall.Kill(syscall.Getpid(), syscall.SIGINT)
}

// Ctrl-C ends a command that holds connections, although its input has not ended.
func TestSignalEndsHold(t *testing.T) {
	shop := shoptest.Start(t)
	tapePath, _ := makeTape(t)
	input, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	defer writer.Close()
	defer time.AfterFunc(30*time.Second, func() { _ = writer.Close() }).Stop()
	before := os.Stdin
	defer func() { os.Stdin = before }()
	os.Stdin = input
	code := Execute([]string{"hold", "--tape", tapePath, "--target", writeTarget(t, shop.Target(t, target.REST, 2))}, interrupting{}, os.Stderr)
	if code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
}
