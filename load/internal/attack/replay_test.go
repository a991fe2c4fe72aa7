package attack

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"hopwise/load/internal/outcome"
	"hopwise/load/internal/record"
	"hopwise/load/internal/tape"
	"hopwise/load/internal/target"
	"hopwise/load/internal/workload"
	"hopwise/load/tests/shoptest"
)

// patience is a time limit for busy machines; no test normally takes this long.
const patience = 30 * time.Second

func makeTape(t testing.TB, rate float64, duration time.Duration) *tape.Tape {
	t.Helper()
	w, err := workload.Load("../../workloads/default.yaml")
	if err != nil {
		t.Fatal(err)
	}
	made, err := tape.Build(tape.Spec{Workload: w, Seed: 1, Rate: rate, Duration: duration, Scale: 1})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Every journey of the tape is sent once, at its time, which its row has; two replays give the same answers.
func TestReplay(t *testing.T) {
	shop := shoptest.Start(t)
	made := makeTape(t, 160, time.Second/2)
	runner := prepare(t, shop.Target(t, target.GraphQL, 2), made.Entries)
	runner.Timeout = patience
	var digests []string
	for range 2 {
		result, err := Replay(context.Background(), made, runner, Options{Drain: patience})
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Rows) != len(made.Entries) || result.Interrupted {
			t.Fatalf("%d of %d journeys", len(result.Rows), len(made.Entries))
		}
		zero := result.Rows[0].IntendedNs - made.Entries[0].AtNs
		for i, row := range result.Rows {
			entry := made.Entries[i]
			if row.Seq != entry.Seq || row.Journey != entry.Journey || row.Outcome != outcome.OK {
				t.Errorf("row %d: %+v", i, row)
			}
			// Not compared exactly, because the wall clock may be slewed while the replay runs.
			if drift := row.IntendedNs - zero - entry.AtNs; drift < -50e6 || drift > 50e6 {
				t.Errorf("row %d is intended %d ns from its place on the tape", i, drift)
			}
			if row.StartedNs < row.IntendedNs || row.EndedNs <= row.StartedNs || row.LatencyNs != row.EndedNs-row.IntendedNs {
				t.Errorf("row %d: times %+v", i, row)
			}
		}
		digests = append(digests, record.AnswersDigest(result.Rows))
	}
	if digests[0] != digests[1] {
		t.Error("two replays of one tape gave different answers")
	}
}

// A shop that answers only once all journeys are sent delays no arrivals. Latency counts from the intended arrival.
func TestSlowShopDoesNotSlowArrivals(t *testing.T) {
	shop := shoptest.Start(t)
	made := makeTape(t, 200, time.Second)
	var waiting atomic.Int64
	all := make(chan struct{})
	shop.Fault = func(http.ResponseWriter, shoptest.Seen) bool {
		if waiting.Add(1) == int64(len(made.Entries)) {
			close(all)
		}
		select {
		case <-all:
		case <-time.After(patience):
		}
		return false
	}
	runner := newRunner(t, shop.Target(t, target.REST, 2), made.Entries)
	runner.Timeout = patience
	result, err := Replay(context.Background(), made, runner, Options{Drain: patience})
	if err != nil {
		t.Fatal(err)
	}
	last := result.Rows[len(result.Rows)-1].IntendedNs
	for _, row := range result.Rows {
		if row.EndedNs < last || row.LatencyNs != row.EndedNs-row.IntendedNs {
			t.Errorf("journey %d ended before the last one was sent: %+v", row.Seq, row)
		}
	}
}

// Journeys without an answer are cancelled as timeouts when the drain is over.
func TestDrainIsLimited(t *testing.T) {
	shop := shoptest.Start(t)
	stuck := make(chan struct{})
	defer close(stuck)
	shop.Fault = func(http.ResponseWriter, shoptest.Seen) bool { <-stuck; return true }
	made := makeTape(t, 20, 500*time.Millisecond)
	runner := newRunner(t, shop.Target(t, target.REST, 2), made.Entries)
	runner.Timeout = time.Minute
	began := time.Now()
	result, err := Replay(context.Background(), made, runner, Options{Drain: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > patience/2 {
		t.Errorf("took %v", took)
	}
	for _, row := range result.Rows {
		if row.Outcome != outcome.Timeout {
			t.Errorf("%s: %s", row.Outcome, row.Error)
		}
	}
}

// An interrupted replay ends at once, even in a gap or while users think; it keeps sent journeys, and is incomplete.
func TestInterrupt(t *testing.T) {
	shop := shoptest.Start(t)
	for name, o := range map[string]Options{
		"under way": {}, "within a gap": {}, "thinking": {Closed: &Closed{VUs: 2, Think: time.Minute, Duration: time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			made := makeTape(t, 50, time.Minute)
			if name == "within a gap" {
				made.Entries = made.Entries[:2]
				made.Entries[1].AtNs = 50e9
			}
			runner := prepare(t, shop.Target(t, target.GraphQL, 2), made.Entries)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			o.Watch = func(int64, int64) { time.AfterFunc(100*time.Millisecond, cancel) } // after the first journey
			began := time.Now()
			result, err := Replay(ctx, made, runner, o)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > patience/2 {
				t.Errorf("took %v to stop", took)
			}
			if !result.Interrupted || len(result.Rows) == 0 || len(result.Rows) >= len(made.Entries) {
				t.Errorf("interrupted %v, %d of %d rows", result.Interrupted, len(result.Rows), len(made.Entries))
			}
		})
	}
}

// Vegeta can read the results: one hit per journey, latency from the intended arrival, failures as errors.
func TestVegetaReadsTheResults(t *testing.T) {
	shop := shoptest.Start(t)
	var calls atomic.Int64
	shop.Fault = func(w http.ResponseWriter, _ shoptest.Seen) bool {
		if calls.Add(1)%10 == 0 {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}
		return false
	}
	made := makeTape(t, 200, 300*time.Millisecond)
	runner := newRunner(t, shop.Target(t, target.REST, 2), made.Entries)
	result, err := Replay(context.Background(), made, runner, Options{Drain: patience})
	if err != nil {
		t.Fatal(err)
	}
	result.Rows = append(result.Rows, record.Row{Outcome: outcome.OK, Status: http.StatusNotFound}) // as a step may expect
	path := filepath.Join(t.TempDir(), "vegeta.gob")
	if err := record.WriteVegeta(path, "fake", result.Rows); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	decode := vegeta.NewDecoder(bytes.NewReader(written))
	var metrics vegeta.Metrics
	for _, row := range result.Rows {
		var hit vegeta.Result
		if err := decode.Decode(&hit); err != nil {
			t.Fatal(err)
		}
		if int64(hit.Latency) != row.LatencyNs || hit.Timestamp.UnixNano() != row.IntendedNs || (hit.Error == "") != (row.Outcome == outcome.OK) {
			t.Errorf("hit %+v of row %+v", hit, row)
		}
		metrics.Add(&hit)
	}
	metrics.Close()
	failed := 0
	for _, row := range result.Rows {
		if row.Outcome != outcome.OK {
			failed++
		}
	}
	want := 1 - float64(failed)/float64(len(result.Rows))
	if failed == 0 || metrics.Requests != uint64(len(result.Rows)) || metrics.Success-want > 1e-9 || want-metrics.Success > 1e-9 {
		t.Errorf("vegeta counts %d hits, success %v; expected %v", metrics.Requests, metrics.Success, want)
	}
}
