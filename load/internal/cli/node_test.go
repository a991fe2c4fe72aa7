package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hopwise/load/internal/target"
	"hopwise/load/tests/shoptest"
)

type nodeEnd struct {
	code   int
	stderr string
}

// startNode runs a node concurrently with the test.
func startNode(t *testing.T, args ...string) <-chan nodeEnd {
	t.Helper()
	ended := make(chan nodeEnd, 1)
	go func() {
		code, _, stderr := run(t, append([]string{"node"}, args...)...)
		ended <- nodeEnd{code, stderr}
	}()
	return ended
}

func eventually(t *testing.T, path string) string {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		if text, err := os.ReadFile(path); err == nil {
			return string(text)
		}
	}
	t.Fatalf("%s was never there", path)
	return ""
}

func endOf(t *testing.T, ended <-chan nodeEnd) nodeEnd {
	t.Helper()
	select {
	case end := <-ended:
		return end
	case <-time.After(30 * time.Second):
		t.Fatal("the node did not end")
		return nodeEnd{}
	}
}

func startLine(in time.Duration) string { return fmt.Sprintln(time.Now().Add(in).UnixNano()) }

// A node waits for its tape, reports when it is ready, starts on command, and stays until its files are collected.
func TestNode(t *testing.T) {
	shop := shoptest.Start(t)
	targetPath := writeTarget(t, shop.Target(t, target.REST, 2))
	made, summary := makeTape(t)
	dir := t.TempDir()
	tapePath, out := filepath.Join(dir, "later.jsonl"), filepath.Join(dir, "out")
	ended := startNode(t, "--tape", tapePath, "--target", targetPath, "--out", out, "--shard", "1/2")
	if err := os.Rename(made, tapePath); err != nil {
		t.Fatal(err)
	}
	var ready readiness
	before := time.Now().UnixNano()
	if err := json.Unmarshal([]byte(eventually(t, filepath.Join(out, readyFile))), &ready); err != nil {
		t.Fatal(err)
	}
	if ready.Shard.String() != "1/2" || ready.TapeSHA256 != summary["sha256"] || ready.Journeys == 0 || ready.AtNs < before-int64(time.Minute) {
		t.Errorf("%+v", ready)
	}
	if len(shop.Seen()) != 0 {
		t.Error("journeys were sent before the start")
	}
	line := startLine(time.Second)
	writeText(t, filepath.Join(out, startFile), line[:8]) // as during a slow write
	time.Sleep(2 * pollInterval)
	writeText(t, filepath.Join(out, startFile), line)
	var end ending
	if err := json.Unmarshal([]byte(eventually(t, filepath.Join(out, doneFile))), &end); err != nil || end.ExitCode != exitOK || end.Error != "" {
		t.Errorf("%+v, %v", end, err)
	}
	if figures := figuresOf(t, out); figures.Journeys != ready.Journeys || figures.Outcomes["ok"] != ready.Journeys {
		t.Errorf("%+v", figures)
	}
	select {
	case end := <-ended:
		t.Errorf("it did not wait for its files to be taken: %+v", end)
	case <-time.After(5 * pollInterval):
	}
	writeText(t, filepath.Join(out, takenFile), "")
	if end := endOf(t, ended); end.code != exitOK {
		t.Errorf("%+v", end)
	}
}

// Errors are in done.json too, which can be read for as long as the node waits for the collection of its files.
func TestNodeFails(t *testing.T) {
	shop := shoptest.Start(t)
	good := writeTarget(t, shop.Target(t, target.REST, 2))
	away := shop.Target(t, target.REST, 2)
	for channel := range away.Entry {
		away.Entry[channel] = target.Entry{Protocol: target.REST, URL: "http://127.0.0.1:1"}
	}
	tapePath, _ := makeTape(t)
	cases := []struct {
		name, tape, target, start string
		code                      int
		want                      string
	}{
		{"an instant that has passed", tapePath, good, startLine(-time.Second), exitFailed, "before the generator was ready"},
		{"an instant that is none", tapePath, good, "soon\n", exitBadInput, `"soon" is not a Unix time in ns`},
		{"a shop that does not answer", tapePath, writeTarget(t, away), "", exitFailed, "does not answer"},
		{"no tape", filepath.Join(t.TempDir(), "none"), good, "", exitFailed, "was not there within 200ms"},
		{"no start", tapePath, good, "", exitFailed, "start was not there within 200ms"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out := t.TempDir()
			if c.start != "" {
				writeText(t, filepath.Join(out, startFile), c.start)
			}
			end := endOf(t, startNode(t, "--tape", c.tape, "--target", c.target, "--out", out, "--wait", "200ms"))
			var told ending
			if err := json.Unmarshal([]byte(read(t, filepath.Join(out, doneFile))), &told); err != nil {
				t.Fatal(err)
			}
			if end.code != c.code || told.ExitCode != c.code || !strings.Contains(end.stderr, c.want) || !strings.Contains(told.Error, c.want) {
				t.Errorf("%+v, %+v; expected %d, %q", end, told, c.code, c.want)
			}
		})
	}
}

// Results that are not collected are a failure.
func TestUncollectedNodeFails(t *testing.T) {
	shop := shoptest.Start(t)
	tapePath, _ := makeTape(t)
	out := t.TempDir()
	ended := startNode(t, "--tape", tapePath, "--target", writeTarget(t, shop.Target(t, target.REST, 2)), "--out", out, "--wait", "1s")
	eventually(t, filepath.Join(out, readyFile))
	writeText(t, filepath.Join(out, startFile), startLine(time.Second))
	end := endOf(t, ended)
	if end.code != exitFailed || !strings.Contains(end.stderr, "taken was not there within 1s") {
		t.Errorf("%+v", end)
	}
}

// SIGTERM ends a node wherever it waits.
func TestSignalEndsANode(t *testing.T) {
	shop := shoptest.Start(t)
	targetPath := writeTarget(t, shop.Target(t, target.REST, 2))
	tapePath, _ := makeTape(t)
	for _, c := range []struct {
		name    string
		start   time.Duration
		reached string
	}{
		{"before its start", 0, readyFile},
		{"before its instant", time.Minute, readyFile},
		{"after its end", time.Second, doneFile},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := t.TempDir()
			ended := startNode(t, "--tape", tapePath, "--target", targetPath, "--out", out)
			eventually(t, filepath.Join(out, readyFile))
			if c.start > 0 {
				writeText(t, filepath.Join(out, startFile), startLine(c.start))
			}
			eventually(t, filepath.Join(out, c.reached))
			if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if end := endOf(t, ended); end.code != exitInterrupted {
				t.Errorf("%+v", end)
			}
		})
	}
}
