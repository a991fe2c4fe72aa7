package attack

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hopwise/load/internal/exchange"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/steps"
	"hopwise/load/internal/tape"
	"hopwise/load/internal/target"
)

// A tape of steps is replayed like a tape for the shop; the error of a journey that took too long names its step. The
// customer's pauses come from the tape. They count neither as latency nor towards the limit, and no step includes them.
func TestStepsAreReplayed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			time.Sleep(400 * time.Millisecond)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"at": "` + r.URL.Path + `"}`))
	}))
	defer server.Close()
	for path, want := range map[string]outcome.Class{"/fast": outcome.OK, "/slow": outcome.Timeout} {
		second := &steps.Step{Name: "second", Line: 8, At: "e", Method: "GET", Path: "/fast", Think: []float64{100, 500}}
		text, err := json.Marshal(steps.Plan{
			Format: steps.Format, File: "t.yaml",
			Workload: json.RawMessage(`{"name":"t","mix":[{"journey":"own","channel":"web","weight":1}]}`),
			Journeys: []*steps.Journey{{Name: "own", Steps: []*steps.Step{{Name: "first", Line: 7, At: "e", Method: "GET", Path: path}, second}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "steps.json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		plan, err := steps.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		w, err := tape.WorkloadOf(plan)
		if err != nil {
			t.Fatal(err)
		}
		made, err := tape.Build(tape.Spec{Workload: w, Seed: 1, Rate: 20, Duration: time.Second / 4, Scale: 1, Steps: plan})
		if err != nil {
			t.Fatal(err)
		}
		at := target.Target{Topology: "t", HTTP: 1, Steps: file, Endpoints: map[string]target.Entry{"e": {Protocol: target.REST, URL: server.URL}}}
		runner, err := NewRunner(at, made.Entries)
		if err != nil {
			t.Fatal(err)
		}
		if runner.Client, err = exchange.NewClient(at, 4); err != nil {
			t.Fatal(err)
		}
		runner.Timeout = 200 * time.Millisecond
		if err := runner.Prepare(t.Context(), made.Entries); err != nil {
			t.Fatal(err)
		}
		result, err := Replay(t.Context(), made, runner, Options{Drain: time.Second})
		runner.Client.Close()
		if err != nil || len(result.Rows) != len(made.Entries) || len(result.Rows) != 5 {
			t.Fatalf("%d rows, %v", len(result.Rows), err)
		}
		for _, row := range result.Rows {
			pause := journey.Driver{Protocol: target.Steps, Steps: plan}.Pauses(made.Entries[row.Seq])
			if thought := row.EndedNs - row.IntendedNs - row.LatencyNs; (thought >= pause.Nanoseconds()) != (want == outcome.OK) {
				t.Errorf("%s: %v of pauses in %+v", path, time.Duration(thought), row)
			}
			late := want != outcome.Timeout || strings.Contains(row.Error, "step first (t.yaml:7) at e: no complete answer within the journey's limit of 200ms")
			if row.Outcome != want || (row.AnswerSHA256 == "") != (want != outcome.OK) || !late {
				t.Errorf("%s: %+v", path, row)
			}
		}
	}
}
