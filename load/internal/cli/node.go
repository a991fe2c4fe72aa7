package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hopwise/load/internal/atomicfile"
	"hopwise/load/internal/tape"
)

// The files in a node's folder through which the node and its driver synchronise.
const (
	readyFile = "ready.json" // written by the node
	startFile = "start"      // written by the driver
	doneFile  = "done.json"  // written by the node
	takenFile = "taken"      // written by the driver
)

const (
	defaultWait  = 5 * time.Minute
	pollInterval = 20 * time.Millisecond
)

type nodeFlags struct {
	replayFlags
	wait time.Duration
}

type readiness struct {
	Shard      tape.Shard `json:"shard"`
	TapeSHA256 string     `json:"tape_sha256"`
	Journeys   int        `json:"journeys"` // of the shard
	AtNs       int64      `json:"at_ns"`    // Unix time by the node's clock
}

type ending struct {
	ExitCode int    `json:"exit_code"`
	Error    string `json:"error"` // empty after success
}

func newNode(stderr *os.File) *cobra.Command {
	var f nodeFlags
	cmd := &cobra.Command{
		Use:   "node --tape FILE --target FILE --shard I/N --out DIR",
		Short: "Replays one shard of a tape as one of several load nodes that begin together",
		Long: `Runs "shopload replay --shard I/N --start-at TIME" in steps, so that nodes on several machines are ready before the driver sets the
common start:

  1. waits until the files of --tape and --target exist
  2. opens sessions and connections, and writes DIR/ready.json with its clock's time
  3. waits for DIR/start: a line with the start instant, as Unix time in ns; an instant that has passed is refused
  4. replays, writes the files of a replay, and then DIR/done.json with its exit code and error
  5. waits for DIR/taken, so that its files can be fetched, and exits

The driver should write each of its files under another name and then rename it. Each wait ends after --wait at the latest; SIGTERM ends any wait at once.`,
		Example: "  shopload node --tape tape.jsonl --target target.json --shard 0/3 --trace 0.2 --out results/shard-0",
	}
	f.register(cmd)
	cmd.Flags().DurationVar(&f.wait, "wait", defaultWait, "maximum wait for each of the driver's files")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return f.run(cmd, stderr) }
	return cmd
}

func (f *nodeFlags) run(cmd *cobra.Command, stderr *os.File) error {
	if f.wait <= 0 {
		return badInput{fmt.Errorf("--wait %v is not above 0", f.wait)}
	}
	if err := errors.Join(f.check(cmd), requireFlags(cmd, "tape", "target")); err != nil {
		return err
	}
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return badInput{err}
	}
	failure := f.replayWhenTold(cmd, stderr)
	end := ending{ExitCode: exitCode(failure)}
	if failure != nil {
		end.Error = oneLine(failure)
	}
	if err := atomicfile.WriteJSON(filepath.Join(f.out, doneFile), end); err != nil {
		return errors.Join(failure, err)
	}
	_, err := f.await(cmd.Context(), filepath.Join(f.out, takenFile), present)
	if failure != nil {
		return failure
	}
	return err
}

func (f *nodeFlags) replayWhenTold(cmd *cobra.Command, stderr *os.File) error {
	for _, path := range []string{f.tapePath, f.targetPath} {
		if _, err := f.await(cmd.Context(), path, present); err != nil {
			return err
		}
	}
	o, err := f.open(cmd)
	if err != nil {
		return err
	}
	ready := readiness{Shard: f.shard, TapeSHA256: o.tape.SHA256, Journeys: len(o.tape.Entries), AtNs: time.Now().UnixNano()}
	if err := atomicfile.WriteJSON(filepath.Join(f.out, readyFile), ready); err != nil {
		return err
	}
	start, err := f.await(cmd.Context(), filepath.Join(f.out, startFile), wholeLine)
	if err != nil {
		return err
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(start), 10, 64)
	if err != nil {
		return badInput{fmt.Errorf("%s: %q is not a Unix time in ns", filepath.Join(f.out, startFile), strings.TrimSpace(start))}
	}
	f.startAt = time.Unix(0, ns)
	return f.send(cmd, stderr, o)
}

func present(string) bool        { return true }
func wholeLine(text string) bool { return strings.HasSuffix(text, "\n") }

func (f *nodeFlags) await(ctx context.Context, path string, complete func(string) bool) (string, error) {
	limited, cancel := context.WithTimeout(ctx, f.wait)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		text, err := os.ReadFile(path)
		if err == nil && complete(string(text)) {
			return string(text), nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", badInput{err}
		}
		select {
		case <-ticker.C:
		case <-limited.Done():
			if ctx.Err() != nil {
				return "", errInterrupted
			}
			return "", fmt.Errorf("%s was not there within %v", path, f.wait)
		}
	}
}
