package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"hopwise/load/internal/link"
)

// Every protocol has all rows in the table and as JSON, regardless of the figures.
func TestEveryProtocolIsMeasured(t *testing.T) {
	clock, err := link.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	defer clock.Close()
	protocols, stop, err := serve()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	small := plan{
		rtts: []time.Duration{time.Millisecond}, bandwidths: []int64{50 * mbit}, small: time.Millisecond, bulk: 10 * time.Millisecond,
		pairs: 1, journeys: 1, download: 1_000,
	}
	const rounds = 2
	all, err := (&bench{plan: small, clock: clock, protocols: protocols}).measure(rounds)
	if err != nil {
		t.Fatal(err)
	}
	spoken := []string{"HTTP/1.1", "HTTP/2", "HTTP/3", "gRPC"}
	if len(all.Rows) != 3*len(spoken) || len(all.Neighbours) != 2*len(spoken) {
		t.Fatalf("%d rows and %d neighbours", len(all.Rows), len(all.Neighbours))
	}
	for _, r := range all.Rows {
		if !slices.Contains(spoken, r.Protocol) || len(r.Measured) != rounds {
			t.Errorf("%+v", r)
		}
		if payload := r.Goodput; r.What != "rtt" && (len(payload) != rounds || slices.Min(payload) < 0.8 || slices.Max(payload) >= 1) {
			t.Errorf("%s %s: the payload is %v of what the line carried", r.Protocol, r.What, payload)
		}
	}
	var table bytes.Buffer
	if err := all.print(&table); err != nil {
		t.Fatal(err)
	}
	for _, protocol := range spoken {
		if got := strings.Count(table.String(), "\n"+protocol+" "); got != 5 {
			t.Errorf("%d rows of %s:\n%s", got, protocol, table.String())
		}
	}
	if _, err := json.Marshal(all); err != nil {
		t.Error(err)
	}
}

func TestJudgement(t *testing.T) {
	for want, r := range map[bool]row{
		true:  {Asked: 100, Limit: 1, Measured: []float64{90, 100.9, 130}},
		false: {Asked: 100, Limit: 1, Measured: []float64{98.9, 98.9, 100}},
	} {
		if r.judge(); r.OK != want {
			t.Errorf("%+v", r)
		}
	}
	slower := []float64{0.1, 0.2, 0.3, 0.1, 0.2, 0.3}
	for name, c := range map[string]struct {
		neighbour
		want bool
	}{
		"slower, on links of their own":         {neighbour{EffectMs: slower}, false},
		"no slower":                             {neighbour{EffectMs: []float64{-0.1, 0.2, 0.3, 0.1, 0.2, 0.3}}, true},
		"too few pairs to say":                  {neighbour{EffectMs: []float64{-0.1, 0.1}}, false},
		"held up, on one link":                  {neighbour{Shared: true, EffectMs: []float64{20}}, true},
		"the measurement is blind, on one link": {neighbour{Shared: true, EffectMs: slower}, false},
	} {
		if c.judge(); c.OK != c.want {
			t.Errorf("%s: %+v", name, c.neighbour)
		}
	}
}

// The ranks are from tables of the sign test's interval.
func TestIntervalOfTheMedian(t *testing.T) {
	for n, ranks := range map[int][2]float64{6: {1, 6}, 8: {1, 8}, 9: {2, 8}, 20: {6, 15}, 30: {10, 21}} {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(n - i)
		}
		if low, high, ok := interval(values); !ok || [2]float64{low, high} != ranks {
			t.Errorf("%d values: %g to %g instead of %v", n, low, high, ranks)
		}
	}
	if _, _, ok := interval(make([]float64, 5)); ok {
		t.Error("five values have an interval")
	}
}
