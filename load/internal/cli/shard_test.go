package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	vegeta "github.com/tsenart/vegeta/v12/lib"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"hopwise/load/internal/record"
	"hopwise/load/internal/target"
	"hopwise/load/tests/shoptest"
)

type receiver struct {
	collector.UnimplementedTraceServiceServer
}

func (receiver) Export(context.Context, *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	return &collector.ExportTraceServiceResponse{}, nil
}

func startReceiver(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, receiver{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func figuresOf(t *testing.T, folder string) (g record.Generator) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, filepath.Join(folder, "generator.json"))), &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func linesOf[T any](t *testing.T, path string) (rows []T) {
	t.Helper()
	for line := range strings.Lines(read(t, path)) {
		var row T
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func sentOf(t *testing.T, folder string) []record.Row {
	t.Helper()
	return linesOf[record.Row](t, filepath.Join(folder, "journeys.jsonl"))
}

// rowsOf returns the rows of a replay without fields that vary from run to run.
func rowsOf(t *testing.T, folder string) []record.Row {
	t.Helper()
	rows := sentOf(t, folder)
	for i := range rows {
		row := &rows[i]
		row.IntendedNs, row.StartedNs, row.EndedNs, row.LatencyNs, row.TraceID, row.OrderID = 0, 0, 0, 0, "", 0
	}
	return rows
}

// hitsOf returns vegeta's results without fields that vary from run to run.
func hitsOf(t *testing.T, folder string) (hits []string) {
	t.Helper()
	for decode := vegeta.NewDecoder(bytes.NewReader([]byte(read(t, filepath.Join(folder, "vegeta.gob"))))); ; {
		var hit vegeta.Result
		if err := decode(&hit); errors.Is(err, io.EOF) {
			return hits
		} else if err != nil {
			t.Fatal(err)
		}
		hits = append(hits, fmt.Sprint(hit.Seq, hit.Code, hit.BytesIn, hit.BytesOut, hit.URL, hit.Error))
	}
}

// Several generators that share a tape have, once merged, a single generator's results and number of connections.
func TestShardsAreOneReplay(t *testing.T) {
	shop := shoptest.Start(t)
	at := shop.Target(t, target.GraphQL, 2)
	at.OTLP = startReceiver(t)
	at.Connections = 4
	targetPath := writeTarget(t, at)
	tapePath, summary := makeTape(t)
	alone := t.TempDir()
	args := []string{"replay", "--tape", tapePath, "--target", targetPath, "--trace", "0.3"}
	succeed(t, append(args, "--out", alone)...)
	single := figuresOf(t, alone)
	if single.Shard.String() != "0/1" || single.Sampled == 0 || single.Sampled == single.Journeys {
		t.Fatalf("%+v", single)
	}
	for _, count := range []int{1, 3} {
		out := t.TempDir()
		merge := []string{"merge", "--out", filepath.Join(out, "merged")}
		for index := count - 1; index >= 0; index-- {
			part := filepath.Join(out, fmt.Sprint(index))
			succeed(t, append(args, "--out", part, "--shard", fmt.Sprintf("%d/%d", index, count))...)
			merge = append(merge, "--part", part)
		}
		succeed(t, merge...)
		merged := figuresOf(t, filepath.Join(out, "merged"))
		if merged.AnswersSHA256 != single.AnswersSHA256 || merged.TapeSHA256 != summary["sha256"] || merged.Shard != single.Shard {
			t.Errorf("%d shards: answers %s of tape %s", count, merged.AnswersSHA256, merged.TapeSHA256)
		}
		if merged.Journeys != single.Journeys || merged.TapeJourneys != single.TapeJourneys || merged.Sampled != single.Sampled ||
			merged.SpansExported < single.SpansExported/2 || merged.Outcomes["ok"] != single.Journeys {
			t.Errorf("%d shards: %+v; alone: %+v", count, merged, single)
		}
		if merged.Tracing == nil || merged.Tracing.ExportCPUS <= 0 || merged.Tracing.CostNs["CLIENT"] <= 0 {
			t.Errorf("%d shards: tracing cost %+v", count, merged.Tracing)
		}
		if merged.Connections != 4 || merged.Dialed != single.Dialed {
			t.Errorf("%d shards asked for %d connections and opened %d; alone %d", count, merged.Connections, merged.Dialed, single.Dialed)
		}
		if len(merged.Shards) != count || merged.StartLagMaxUs < merged.StartLagP99Us || merged.StartLagP99Us <= 0 || merged.FirstIntendedNs == 0 {
			t.Errorf("%d shards: %+v", count, merged)
		}
		cpu := 0.0
		for _, shard := range merged.Shards {
			cpu += shard.CPUS
			if merged.WallS < shard.WallS || merged.StartLagMaxUs < shard.StartLagMaxUs || merged.LastEndedNs < shard.LastEndedNs {
				t.Errorf("%d shards: %+v of %+v", count, shard, merged)
			}
		}
		if off := merged.CPUS - cpu; off > 1e-9 || off < -1e-9 {
			t.Errorf("%d shards: %v s of CPU instead of %v", count, merged.CPUS, cpu)
		}
		if got, want := fmt.Sprint(rowsOf(t, filepath.Join(out, "merged"))), fmt.Sprint(rowsOf(t, alone)); got != want {
			t.Errorf("%d shards: rows\n%s\ninstead of\n%s", count, got, want)
		}
		if got, want := fmt.Sprint(hitsOf(t, filepath.Join(out, "merged"))), fmt.Sprint(hitsOf(t, alone)); got != want {
			t.Errorf("%d shards: hits\n%s\ninstead of\n%s", count, got, want)
		}
	}
}

// Each trial draws its traced journeys again, so that trials are independent.
func TestEachTrialDrawsItsTracedJourneys(t *testing.T) {
	shop := shoptest.Start(t)
	at := shop.Target(t, target.GraphQL, 2)
	at.OTLP = startReceiver(t)
	tapePath, _ := makeTape(t)
	traced := func(trial string) (seqs []int64) {
		at.Trial = trial
		out := t.TempDir()
		succeed(t, "replay", "--tape", tapePath, "--target", writeTarget(t, at), "--trace", "0.5", "--out", out)
		for _, row := range rowsOf(t, out) {
			if row.Sampled {
				seqs = append(seqs, row.Seq)
			}
		}
		return seqs
	}
	first, again, other := traced("1-rest"), traced("1-rest"), traced("2-rest")
	if len(first) == 0 || !slices.Equal(first, again) || slices.Equal(first, other) {
		t.Errorf("traced %v, again %v, in another trial %v", first, again, other)
	}
}

// Shards of different replays are not merged; the message names the shard and the difference.
func TestShardsThatDoNotFit(t *testing.T) {
	shop := shoptest.Start(t)
	targetPath := writeTarget(t, shop.Target(t, target.REST, 2))
	tapePath, _ := makeTape(t)
	otherTape, _ := makeTape(t, "--seed", "2")
	dir := t.TempDir()
	sent := func(name, tapePath, shard string) (out string) {
		out = filepath.Join(dir, name)
		succeed(t, "replay", "--tape", tapePath, "--target", targetPath, "--out", out, "--shard", shard)
		return out
	}
	first, second, third := sent("first", tapePath, "0/3"), sent("second", tapePath, "1/3"), sent("third", tapePath, "2/3")
	ofOther, ofTwo := sent("other", otherTape, "2/3"), sent("two", tapePath, "1/2")
	bent := func(name, file string, bend func(string) string) string {
		out := filepath.Join(dir, name)
		if err := os.CopyFS(out, os.DirFS(third)); err != nil {
			t.Fatal(err)
		}
		writeText(t, filepath.Join(out, file), bend(read(t, filepath.Join(out, file))))
		return out
	}
	cut := bent("cut", "journeys.jsonl", func(rows string) string { return rows[:len(rows)/2] })
	twice := bent("twice", "journeys.jsonl", func(rows string) string {
		lines := strings.SplitAfter(rows, "\n")
		lines[1] = lines[0]
		return strings.Join(lines, "")
	})
	stopped := bent("stopped", "generator.json", func(text string) string {
		return strings.Replace(text, `"incomplete": false`, `"incomplete": true`, 1)
	})
	old := bent("old", "generator.json", func(text string) string { return strings.Replace(text, `"shard": "2/3"`, `"x": 1`, 1) })
	cases := []struct {
		name  string
		parts []string
		want  string
	}{
		{"one is missing", []string{first, third}, "shard 1/3 is missing"},
		{"two are missing", []string{second}, "shard 0/3, 2/3 is missing"},
		{"one twice", []string{first, second, second}, "shard 1/3 (" + second + ") is given twice"},
		{"another tape", []string{first, second, ofOther}, "shard 2/3 (" + ofOther + ") is from another replay than shard 0/3 (" + first + "): tape_sha256 is"},
		{"another number", []string{first, ofTwo}, "the number of shards is 2, not 3"},
		{"rows cut short", []string{first, second, cut}, "journeys.jsonl of " + cut},
		{"a row twice", []string{first, second, twice}, "shard 2/3 (" + twice + ") has journey 2 instead of 5"},
		{"stopped early", []string{first, second, stopped}, "shard 2/3 (" + stopped + ") is incomplete"},
		{"no shard named", []string{first, second, old}, "generator.json of " + old + " names no shard"},
		{"a folder that is not there", []string{first, second, filepath.Join(dir, "none")}, "none/generator.json"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"merge", "--out", filepath.Join(dir, "merged")}
			for _, part := range c.parts {
				args = append(args, "--part", part)
			}
			code, _, stderr := run(t, args...)
			if code != exitFailed || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit code %d, %q; expected %q", code, stderr, c.want)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "merged")); err == nil {
		t.Error("something was written")
	}
}
