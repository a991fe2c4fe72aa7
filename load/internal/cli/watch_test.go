package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hopwise/load/internal/target"
	"hopwise/load/internal/watch"
	"hopwise/load/tests/shoptest"
)

func tellAll(s shoptest.Stream) error {
	s.Open(0)
	s.Tell(1)
	<-s.Done()
	return nil
}

// A watch reports that all streams are open, then its figures, which match the files.
func TestWatch(t *testing.T) {
	shop := shoptest.Start(t)
	shop.Watched = tellAll
	tapePath, _ := makeTape(t)
	out := filepath.Join(t.TempDir(), "new", "watch")
	code, stdout, stderr := run(t, "watch", "--json", "--tape", tapePath, "--target", writeTarget(t, shop.Target(t, target.GRPC, 2)),
		"--watchers", "20", "--way", "push", "--duration", "1s", "--out", out)
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	opened, figures, _ := strings.Cut(stdout, "\n")
	if !strings.HasPrefix(opened, `{"event":"open","watchers":20,"opened_s":`) || !strings.Contains(stderr, "watch: 20 watchers, 20 updates, 0 missed") {
		t.Errorf("stdout %s, stderr %s", opened, stderr)
	}
	var printed, written watch.Figures
	for text, f := range map[string]*watch.Figures{figures: &printed, read(t, filepath.Join(out, "watchers.json")): &written} {
		if err := json.Unmarshal([]byte(text), f); err != nil {
			t.Fatal(err)
		}
	}
	if printed.Updates != 20 || written.Updates != 20 || printed.OpenS < 1 || printed.Incomplete || printed.MaxRSSBytes <= 0 || printed.CPUS <= 0 {
		t.Errorf("printed %+v, written %+v", printed, written)
	}
	if lines := strings.Count(read(t, filepath.Join(out, "updates.jsonl")), "\n"); lines != 20 {
		t.Errorf("%d lines", lines)
	}
}

// Ctrl-C ends a watch at once; the results so far are written, and the exit code is 130.
func TestSignalEndsAWatch(t *testing.T) {
	shop := shoptest.Start(t)
	var asked atomic.Int64
	shop.Told = func(int64) []int64 {
		if asked.Add(1) == 10 { // the first three requests open streams
			_ = syscall.Kill(syscall.Getpid(), syscall.SIGTERM)
		}
		return []int64{1}
	}
	tapePath, _ := makeTape(t)
	out := t.TempDir()
	began := time.Now()
	code, stdout, stderr := run(t, "watch", "--tape", tapePath, "--target", writeTarget(t, shop.Target(t, target.REST, 1)),
		"--watchers", "3", "--way", "poll", "--interval", "100ms", "--duration", "60s", "--out", out)
	if code != exitInterrupted || time.Since(began) > 30*time.Second || !strings.Contains(stdout, "one every 100ms; failed: none") {
		t.Fatalf("exit code %d after %v: %s%s", code, time.Since(began), stdout, stderr)
	}
	var figures watch.Figures
	if err := json.Unmarshal([]byte(read(t, filepath.Join(out, "watchers.json"))), &figures); err != nil {
		t.Fatal(err)
	}
	if !figures.Incomplete || figures.Polls == 0 || figures.Updates != 0 {
		t.Errorf("figures %+v", figures)
	}
}

// The error for bad input to `shopload watch` names the valid values; a shop that does not answer is not bad input.
func TestBadWatches(t *testing.T) {
	shop := shoptest.Start(t)
	tapePath, _ := makeTape(t)
	rest := writeTarget(t, shop.Target(t, target.REST, 1))
	away := shop.Target(t, target.GRPC, 2)
	away.Entry[target.Web] = target.Entry{Protocol: target.GRPC, URL: "http://127.0.0.1:1"}
	with := func(targetPath string, extra ...string) []string {
		given := []string{"watch", "--tape", tapePath, "--target", targetPath, "--watchers", "5", "--way", "push", "--duration", "1s", "--out", t.TempDir()}
		return append(given, extra...)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no tape", []string{"watch", "--target", rest}, exitBadInput, "--tape is missing"},
		{"no way", []string{"watch", "--tape", tapePath, "--target", rest}, exitBadInput, "--way is missing"},
		{"unknown way", with(rest, "--way", "pigeon"), exitBadInput, `unknown way "pigeon"; ways: push, poll`},
		{"nobody", with(rest, "--watchers", "0"), exitBadInput, "--watchers 0 is not at least 1"},
		{"more than there are", with(rest, "--watchers", "9801"), exitBadInput, "--watchers 9801 is more than the 9800 customers"},
		{"no time", with(rest, "--duration", "0s"), exitBadInput, "--duration 0s is not above 0"},
		{"no interval", with(rest, "--way", "poll", "--interval", "0s"), exitBadInput, "--interval 0s is not above 0"},
		{"an interval of streams", with(rest, "--interval", "1s"), exitBadInput, "--interval needs --way poll"},
		{"too many connections", with(rest, "--connections", "6"), exitBadInput, "--connections 6 is not between 0 (each watcher has its own) and 5"},
		{"streams that share over HTTP/1.1", with(rest, "--connections", "2"), exitBadInput, "over HTTP/1.1 a stream has a connection to itself"},
		{"no protocol to wait by", with(writeTarget(t, shop.Target(t, target.RESTTranscoded, 2))), exitBadInput,
			`speak rest-transcoded, over which they cannot wait for updates; protocols that support this: grpc, rest, rest-services, graphql`},
		{"unknown channel", with(rest, "--channel", "fax"), exitBadInput, `unknown channel "fax"; channels: web, mobile, partner`},
		{"nobody there", with(writeTarget(t, away)), exitFailed, "cannot watch, while 0 of 5 can: UNAVAILABLE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if code, _, stderr := run(t, c.args...); code != c.code || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit code %d, %q; expected %d and %q", code, stderr, c.code, c.want)
			}
		})
	}
}
