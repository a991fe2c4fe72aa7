package tape

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"hopwise/load/internal/steps"
)

func ownTape(t *testing.T, take steps.Take, rows int, seed uint64) (*Tape, error) {
	t.Helper()
	table := steps.Table{File: "r.csv", Take: take, Columns: []string{"id"}}
	for i := range rows {
		table.Rows = append(table.Rows, []json.RawMessage{json.RawMessage(fmt.Sprint(i))})
	}
	text, err := json.Marshal(steps.Plan{
		Format: steps.Format, File: "t.yaml", Tables: map[string]*steps.Table{"r": &table},
		Workload: json.RawMessage(`{"name":"t","mix":[{"journey":"own","channel":"web","weight":1}]}`),
		Journeys: []*steps.Journey{{Name: "own", Table: "r", Steps: []*steps.Step{{Name: "s", Method: "GET", Path: "/${id}"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := steps.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	w, err := WorkloadOf(plan)
	if err != nil {
		t.Fatal(err)
	}
	return Build(Spec{Workload: w, Seed: seed, Rate: 50, Duration: 2 * time.Second, Scale: 1, Steps: plan})
}

// A tape of steps has exactly rate × duration journeys, each with a row; it is reproducible, and can be read back.
func TestTapesOfSteps(t *testing.T) {
	const journeys = 100
	for _, take := range []steps.Take{steps.Once, steps.Again, steps.Random} {
		rows := journeys
		if take == steps.Again {
			rows = 7
		}
		one, err := ownTape(t, take, rows, 1)
		if err != nil {
			t.Fatal(err)
		}
		text := encode(t, one)
		again, _ := ownTape(t, take, rows, 1)
		if same, err := again.Encode(); err != nil || string(same) != string(text) {
			t.Errorf("%s: the same seed gives another tape", take)
		}
		read, err := Decode(text)
		if err != nil || len(read.Entries) != journeys || read.Header.Steps == "" {
			t.Fatalf("%s: %d journeys of steps %q, %v", take, len(read.Entries), read.Header.Steps, err)
		}
		taken := map[string]bool{}
		for i, entry := range read.Entries {
			row := string(entry.Params.Values["id"])
			taken[row] = true
			if take != steps.Random && row != fmt.Sprint(i%rows) {
				t.Errorf("%s: journey %d has row %s", take, i, row)
			}
		}
		if take == steps.Random && (len(taken) < journeys/3 || len(taken) == journeys) {
			t.Errorf("%d different rows of %d drawn", len(taken), journeys)
		}
	}
	if other, err := ownTape(t, steps.Random, journeys, 2); err != nil || other.Entries[0].AtNs == 0 {
		t.Error(err)
	}
}

func TestVariablesRunOut(t *testing.T) {
	_, err := ownTape(t, steps.Once, 99, 1)
	if err == nil || !strings.Contains(err.Error(), "t.yaml: tables.r: the variables run out: r.csv has 99 rows, and the journeys of this tape take 100") {
		t.Error(err)
	}
}
