package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hopwise/load/internal/attack"
	"hopwise/load/internal/echo"
	"hopwise/load/internal/record"
	"hopwise/load/internal/target"
	"hopwise/load/tests/shoptest"
)

// A closed loop never has more journeys under way than virtual users, and takes them in the tape's order. It counts
// latency from the start, and records its settings in figures and rows.
func TestClosedLoop(t *testing.T) {
	shop := shoptest.Start(t)
	var under, most atomic.Int64
	shop.Fault = func(http.ResponseWriter, shoptest.Seen) bool {
		now := under.Add(1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		time.Sleep(2 * time.Millisecond)
		under.Add(-1)
		return false
	}
	tapePath, summary := makeTape(t, "--rate", "1", "--duration", "60s") // would take a minute in an open loop
	out := t.TempDir()
	began := time.Now()
	code, stdout, stderr := run(t, "replay", "--vus", "3", "--duration", "30s", "--tape", tapePath,
		"--target", writeTarget(t, shop.Target(t, target.REST, 2)), "--out", out)
	if code != exitOK || !strings.Contains(stdout, "closed loop") || time.Since(began) > 25*time.Second {
		t.Fatalf("exit code %d after %v: %s %s", code, time.Since(began), stdout, stderr)
	}
	figures := figuresOf(t, out)
	if figures.Mode != record.Closed || figures.Closed == nil || figures.Closed.VUs != 3 || !figures.Closed.TapeExhausted || figures.Incomplete {
		t.Errorf("figures %+v, %+v", figures, figures.Closed)
	}
	if float64(figures.Outcomes["ok"]) != summary["journeys"] || most.Load() > 3 {
		t.Errorf("%v of %v journeys, %d under way", figures.Outcomes, summary["journeys"], most.Load())
	}
	last := int64(0)
	for _, row := range sentOf(t, out) {
		if row.Mode != record.Closed || row.LatencyNs != row.EndedNs-row.IntendedNs || row.StartedNs-row.IntendedNs > int64(time.Second) {
			t.Errorf("row %+v", row)
		}
		last = max(last, row.StartedNs)
	}
	if last == 0 {
		t.Error("no rows")
	}
}

// The loop ends after its duration even if the tape has more journeys, and users who think send fewer journeys.
func TestClosedLoopEnds(t *testing.T) {
	shop := shoptest.Start(t)
	tapePath, _ := makeTape(t, "--rate", "1000", "--duration", "10s")
	counts := map[string]int{}
	for _, think := range []string{"0s", "100ms"} {
		out := t.TempDir()
		succeed(t, "replay", "--vus", "2", "--duration", "600ms", "--think", think, "--tape", tapePath,
			"--target", writeTarget(t, shop.Target(t, target.GRPC, 2)), "--out", out)
		figures := figuresOf(t, out)
		if figures.WallS > 10 || figures.Incomplete || figures.Closed.TapeExhausted || figures.Outcomes["ok"] != figures.Journeys || figures.Journeys == 0 {
			t.Errorf("figures %+v, %+v", figures, figures.Closed)
		}
		counts[think] = figures.Journeys
	}
	if counts["100ms"] > 14 || counts["0s"] <= counts["100ms"] {
		t.Errorf("journeys by time to think: %v", counts)
	}
}

func TestStartsOfUsersAreSpread(t *testing.T) {
	shop := shoptest.Start(t)
	tapePath, _ := makeTape(t, "--rate", "1000", "--duration", "2s")
	out := t.TempDir()
	succeed(t, "replay", "--vus", "20", "--duration", "900ms", "--think", "1s", "--tape", tapePath,
		"--target", writeTarget(t, shop.Target(t, target.REST, 2)), "--out", out)
	// 20 users in 1 s start one every 50 ms, and few users of the first 200 ms come back within them.
	rows := sentOf(t, out)
	early := 0
	for _, row := range rows {
		if row.StartedNs-rows[0].StartedNs < (200 * time.Millisecond).Nanoseconds() {
			early++
		}
	}
	if early == 0 || early > 8 {
		t.Errorf("%d journeys in the first 200 ms", early)
	}
}

// With steps, the number of users is limited to the share of the current step.
func TestUsersStayAway(t *testing.T) {
	shop := shoptest.Start(t)
	tapePath, _ := makeTape(t, "--rate", "2000", "--duration", "2s")
	out := t.TempDir()
	succeed(t, "replay", "--vus", "8", "--duration", "300ms", "--steps", "0.25", "--tape", tapePath,
		"--target", writeTarget(t, shop.Target(t, target.REST, 2)), "--out", out)
	type moment struct {
		at   int64
		more int
	}
	var moments []moment
	for _, row := range sentOf(t, out) {
		moments = append(moments, moment{row.StartedNs, 1}, moment{row.EndedNs, -1})
	}
	slices.SortFunc(moments, func(a, b moment) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.more, b.more)) })
	under, most := 0, 0
	for _, m := range moments {
		under += m.more
		most = max(most, under)
	}
	if most < 1 || most > 2 || under != 0 {
		t.Errorf("%d of 2 users under way at most, %d at the end", most, under)
	}
	code, _, stderr := run(t, "replay", "--vus", "2", "--duration", "1s", "--steps", "1.5", "--tape", tapePath, "--target", "none", "--out", out)
	if code == exitOK || !strings.Contains(stderr, "1.5, which is not between 0 and 1") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// The maximum is measured in every protocol; a missing server or a wrong answer is an error.
func TestMaximum(t *testing.T) {
	server, err := echo.Start(echo.Addresses{HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	for _, where := range [][]string{
		{"--url", "http://" + server.HTTP, "--http", "1"}, {"--url", "http://" + server.HTTP, "--http", "2"}, {"--grpc", server.GRPC},
	} {
		code, stdout, stderr := run(t, append([]string{"max", "--vus", "4", "--duration", "200ms"}, where...)...)
		var maximum attack.Maximum
		if err := json.Unmarshal([]byte(stdout), &maximum); err != nil || code != exitOK {
			t.Fatalf("%v: exit code %d: %s %s", where, code, stdout, stderr)
		}
		if maximum.Requests == 0 || maximum.Failed != 0 || maximum.Rate <= 0 || maximum.P50Us <= 0 || maximum.P99Us < maximum.P50Us {
			t.Errorf("%v: %+v", where, maximum)
		}
	}
	shop := shoptest.Start(t)
	code, stdout, stderr := run(t, "max", "--vus", "4", "--requests", "50", "--duration", "1m", "--url", shop.URL, "--get", "/v1/products/1")
	var counted attack.Maximum
	if err := json.Unmarshal([]byte(stdout), &counted); err != nil || code != exitOK || counted.Requests != 50 {
		t.Fatalf("exit code %d: %s %s", code, stdout, stderr)
	}
	code, _, stderr = run(t, "max", "--vus", "2", "--duration", "100ms", "--url", shop.URL)
	if code != exitFailed || !strings.Contains(stderr, "requests failed; the last one:") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// A journey has more bytes on the wire than in its bodies, and about as many each time. A replay counts their sum.
func TestBytesOnTheWire(t *testing.T) {
	for _, protocol := range []target.Protocol{target.GraphQL, target.RESTServices, target.GRPC} {
		for _, version := range []string{"1", "2"} {
			t.Run(fmt.Sprintf("%s over HTTP/%s", protocol, version), func(t *testing.T) {
				t.Parallel()
				shop := shoptest.Start(t)
				at := shop.Target(t, protocol, int(version[0]-'0'))
				at.Connections = 2
				targetPath := writeTarget(t, at)
				tapePath, _ := makeTape(t)
				answers := filepath.Join(t.TempDir(), "answers.jsonl")
				succeed(t, "sample", "--tape", tapePath, "--target", targetPath, "--out", answers)
				var in, out int64
				for _, got := range linesOf[sampleLine](t, answers) {
					if got.WireIn <= got.BytesIn || got.WireOut <= got.BytesOut || got.BytesIn > got.BytesInRaw || got.Waves > got.Requests {
						t.Errorf("%s over HTTP/%s: %+v", protocol, version, got)
					}
					in, out = in+got.WireIn, out+got.WireOut
				}
				dir := t.TempDir()
				succeed(t, "replay", "--tape", tapePath, "--target", targetPath, "--out", dir)
				figures := figuresOf(t, dir)
				// Tokens, trace contexts and the table of headers vary slightly from run to run.
				if near := func(a, b int64) bool { return a-b < a/20 && b-a < a/20 }; !near(in, figures.WireBytesIn) || !near(out, figures.WireBytesOut) {
					t.Errorf("%s over HTTP/%s: %d in, %d out one by one; %d in, %d out in the replay",
						protocol, version, in, out, figures.WireBytesIn, figures.WireBytesOut)
				}
				if figures.Connections != 2 || figures.OpeningIn == 0 {
					t.Errorf("%s: %+v", protocol, figures)
				}
			})
		}
	}
}
