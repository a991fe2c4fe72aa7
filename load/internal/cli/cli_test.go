package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hopwise/load/internal/journey"
	"hopwise/load/internal/record"
	"hopwise/load/internal/target"
	"hopwise/load/tests/shoptest"
)

const defaultWorkload = "../../workloads/default.yaml"

// run runs the command line and returns its exit code, stdout and stderr.
func run(t testing.TB, args ...string) (int, string, string) {
	t.Helper()
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	if len(args) > 0 && slices.Contains([]string{"replay", "node"}, args[0]) && !slices.Contains(args, "--priority") {
		args = append(slices.Clone(args), "--priority", "normal") // otherwise the test process would keep a raised priority
	}
	var stdout bytes.Buffer
	code := Execute(args, &stdout, stderr)
	text, err := os.ReadFile(stderr.Name())
	if err != nil {
		t.Fatal(err)
	}
	return code, stdout.String(), string(text)
}

func succeed(t testing.TB, args ...string) string {
	t.Helper()
	code, stdout, stderr := run(t, args...)
	if code != exitOK {
		t.Fatalf("%s: exit code %d: %s", args[0], code, stderr)
	}
	return stdout
}

func writeText(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func writeTarget(t testing.TB, at target.Target) string {
	t.Helper()
	text, err := json.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	return writeText(t, filepath.Join(t.TempDir(), "target.json"), string(text))
}

func makeTape(t testing.TB, extra ...string) (path string, summary map[string]any) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tape.jsonl")
	args := append([]string{"tape", "--workload", defaultWorkload, "--seed", "1", "--rate", "200", "--duration", "300ms", "--out", path}, extra...)
	if err := json.Unmarshal([]byte(succeed(t, args...)), &summary); err != nil {
		t.Fatal(err)
	}
	return path, summary
}

// The check sends the first journey of each kind on each channel.
func TestFirstOfEachKind(t *testing.T) {
	var numbers []int64
	for _, chosen := range firstOfEach([]journey.Entry{
		{Seq: 0, Journey: "look"}, {Seq: 1, Journey: "look"}, {Seq: 2, Journey: "read"}, {Seq: 3, Journey: "look", Channel: target.Mobile},
	}) {
		numbers = append(numbers, chosen.Seq)
	}
	if !slices.Equal(numbers, []int64{0, 2, 3}) {
		t.Errorf("chosen: %v", numbers)
	}
}

// End to end: tape, sample, warm-up, replay; the figures agree with each other and with the files.
func TestTapeSampleReplay(t *testing.T) {
	shop := shoptest.Start(t)
	at := shop.Target(t, target.GraphQL, 2)
	at.Entry[target.Partner] = target.Entry{Protocol: target.REST, URL: shop.URL}
	targetPath := writeTarget(t, at)
	tapePath, summary := makeTape(t)
	dir := t.TempDir()

	answers := filepath.Join(dir, "answers.jsonl")
	succeed(t, "sample", "--tape", tapePath, "--target", targetPath, "--out", answers)
	sampled := map[int64]string{}
	for _, got := range linesOf[sampleLine](t, answers) {
		if got.Outcome != "ok" || len(got.Answer) < 10 {
			t.Errorf("sample %+v", got)
		}
		sampled[got.Seq] = string(got.Answer)
	}

	warmUp := []string{"replay", "--warmup", "--quiet", "--tape", tapePath, "--target", targetPath}
	if code, _, stderr := run(t, warmUp...); code != exitOK || stderr != "" {
		t.Fatalf("warm-up: exit code %d: %s", code, stderr)
	}

	out := filepath.Join(dir, "trial", "one")
	stdout := succeed(t, "replay", "--json", "--tape", tapePath, "--target", targetPath, "--out", out)
	var printed record.Generator
	figures := figuresOf(t, out)
	if err := json.Unmarshal([]byte(stdout), &printed); err != nil || printed.AnswersSHA256 != figures.AnswersSHA256 {
		t.Errorf("printed %s", stdout)
	}
	rows := strings.Count(read(t, filepath.Join(out, "journeys.jsonl")), "\n")
	if float64(rows) != summary["journeys"] || figures.Journeys != rows || len(sampled) != rows || figures.Outcomes["ok"] != rows {
		t.Errorf("%d rows, %d sampled, figures %+v, tape %v", rows, len(sampled), figures, summary)
	}
	if figures.TapeSHA256 != summary["sha256"] || figures.Incomplete || figures.CPUS <= 0 || figures.WallS <= 0 || figures.StartLagP99Us <= 0 {
		t.Errorf("figures %+v", figures)
	}
	if _, err := os.Stat(filepath.Join(out, "vegeta.gob")); err != nil {
		t.Error(err)
	}
}

// The JSON summary of a sample has the number of answers, over HTTP/1.1 too.
func TestSampleSummary(t *testing.T) {
	shop := shoptest.Start(t)
	tapePath, _ := makeTape(t, "--pool", "parity")
	answers := filepath.Join(t.TempDir(), "answers.jsonl")
	stdout := succeed(t, "sample", "--json", "--tape", tapePath,
		"--target", writeTarget(t, shop.Target(t, target.REST, 1)), "--out", answers)
	if lines := strings.Count(read(t, answers), "\n"); lines == 0 || !strings.Contains(stdout, fmt.Sprintf(`"journeys":%d`, lines)) {
		t.Errorf("%d lines, printed %s", lines, stdout)
	}
}

// The answers of another target are JSON without its secrets, even if a secret is a number.
func TestSampleHidesSecrets(t *testing.T) {
	t.Setenv("SHOP_TENANT", "42")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"tenant": 42, "total": 1420}`)
	}))
	defer server.Close()
	dir := t.TempDir()
	plan := writeText(t, filepath.Join(dir, "steps.json"), `{"format": "hopwise-steps/1", "file": "t.yaml",
		"workload": {"name": "t", "mix": [{"journey": "own", "channel": "web", "weight": 1}]},
		"journeys": [{"name": "own", "steps": [
			{"name": "first", "line": 7, "at": "e", "method": "GET", "path": "/${env:SHOP_TENANT}"}]}]}`)
	at := target.Target{
		Topology: "t", HTTP: 1, Steps: plan,
		Endpoints: map[string]target.Entry{"e": {Protocol: target.REST, URL: server.URL}},
	}
	tapePath, answers := filepath.Join(dir, "tape.jsonl"), filepath.Join(dir, "answers.jsonl")
	succeed(t, "tape", "--steps", plan, "--rate", "2", "--duration", "1s", "--out", tapePath)
	succeed(t, "sample", "--tape", tapePath, "--target", writeTarget(t, at), "--out", answers)
	const want = `[{"answer":{"tenant":"${env:SHOP_TENANT}","total":"1${env:SHOP_TENANT}0"},"status":"200"}]`
	for _, got := range linesOf[sampleLine](t, answers) {
		if string(got.Answer) != want {
			t.Errorf("%s: %s", got.Error, got.Answer)
		}
	}
}

// Bad input ends with exit code 2 and one line that names the input and, if there is a closed list, the valid values.
func TestBadInput(t *testing.T) {
	shop := shoptest.Start(t)
	good := shop.Target(t, target.GraphQL, 2)
	goodTarget := writeTarget(t, good)
	tapePath, _ := makeTape(t)
	dir := t.TempDir()
	bent := func(change func(*target.Target)) string {
		other := shop.Target(t, target.GraphQL, 2)
		change(&other)
		return writeTarget(t, other)
	}
	cut := writeText(t, filepath.Join(dir, "cut.jsonl"), read(t, tapePath)[:2000])
	noTape := writeText(t, filepath.Join(dir, "no.jsonl"), "hello\n")
	noWorkload := writeText(t, filepath.Join(dir, "bad.yaml"), "name: x\nmix:\n  - {journey: dance, channel: web, weight: 1}\n")
	escapes := writeText(t, filepath.Join(dir, "red.yaml"), "name: x\n\"\\e[31mred\": 1\n")
	brackets := writeText(t, filepath.Join(dir, "brackets.json"), strings.Repeat("[", 20_000))
	noJSON := writeText(t, filepath.Join(dir, "bad.json"), "{")
	out := filepath.Join(dir, "out")
	steps := writeText(t, filepath.Join(dir, "steps.json"), `{"format": "hopwise-steps/1", "file": "t.yaml",
		"workload": {"name": "t", "mix": [{"journey": "own", "channel": "web", "weight": 1}]},
		"journeys": [{"name": "own", "steps": [{"name": "first", "line": 7, "at": "e", "method": "GET", "path": "/"}]}]}`)
	ownTape := filepath.Join(dir, "own.jsonl")
	succeed(t, "tape", "--steps", steps, "--rate", "2", "--duration", "1s", "--out", ownTape)

	tape := func(extra ...string) []string {
		return append([]string{"tape", "--workload", defaultWorkload, "--out", filepath.Join(dir, "t.jsonl")}, extra...)
	}
	replay := func(tapeFile, targetFile string, extra ...string) []string {
		return append([]string{"replay", "--tape", tapeFile, "--target", targetFile, "--out", out}, extra...)
	}
	cases := []struct {
		name string
		args []string
		want string
	}{
		{"unknown command", []string{"dance"}, `unknown command "dance"; commands: tape, sample, replay, watch, node, merge, echo, link, max, hold`},
		{"link that carries nothing", []string{"link"}, "--carry is missing; see shopload link --help"},
		{"link from nowhere", []string{"link", "--carry", "127.0.0.1:1"}, `--carry "127.0.0.1:1" is not of the form FROM=TO`},
		{"link that is too long", []string{"link", "--rtt", "3s", "--carry", "a=b"}, "a round-trip time of 3s is not between 0s and 2s"},
		{"unknown flag", tape("--speed", "3"), "unknown flag: --speed"},
		{"stray argument", tape("more"), `unexpected argument "more"`},
		{"workload not given", []string{"tape", "--out", out}, "--workload is missing"},
		{"workload not there", tape("--workload", "no.yaml"), "no.yaml"},
		{"workload with an unknown journey", tape("--workload", noWorkload), `bad.yaml:3: unknown journey "dance"; journeys: browse`},
		{"workload with an escape sequence for a field", tape("--workload", escapes), `red.yaml:2: unknown field "\x1b[31mred"`},
		{"a path with an escape sequence", tape("--workload", "\x1b[31m.yaml"), `\x1b[31m.yaml`},
		{"target of brackets", replay(tapePath, brackets), "brackets.json: "},
		{"negative rate", tape("--rate", "-1"), "rate -1 is not between 0.00001 and 1000000"},
		{"a rate that is no number", tape("--rate", "fast"), `invalid argument "fast" for "--rate"`},
		{"negative seed", tape("--seed", "-1"), `invalid argument "-1" for "--seed"`},
		{"unknown payload", tape("--payload", "3MB"), `unknown payload "3MB"; payloads: 100B, 1KB, 10KB, 100KB, 1MB`},
		{"a payload of nothing", tape("--payload", "1MB"), "payload=1MB is for workloads with the journey document, which default does not have; give workload=document"},
		{"unknown pool", tape("--pool", "sea"), "pools: trial, parity"},
		{"a folder that is not there", tape("--out", filepath.Join(dir, "no", "t.jsonl")), "no such file or directory"},
		{"tape not there", replay("no.jsonl", goodTarget), "no.jsonl"},
		{"tape cut short", replay(cut, goodTarget), "cut short"},
		{"tape that is none", replay(noTape, goodTarget), "not the header of a tape"},
		{"tape for another target", replay(ownTape, goodTarget), "own.jsonl was made from steps"},
		{"target not there", replay(tapePath, "no.json"), "no.json"},
		{"target of no JSON", replay(tapePath, noJSON), "bad.json"},
		{"http 4", replay(tapePath, bent(func(t *target.Target) { t.HTTP = 4 })), "http is 4; versions: 1, 2, 3"},
		{"http 3 without TLS", replay(tapePath, bent(func(t *target.Target) { t.HTTP = 3 })), "ca_certificate is missing; http is 3, which is always encrypted"},
		{"a URL without TLS", replay(tapePath, bent(func(t *target.Target) { t.CACertificate = "ca.pem" })), "is not of the form https://host:port, as it must be with ca_certificate"},
		{"no URL", replay(tapePath, bent(func(t *target.Target) { t.Entry["web"] = target.Entry{Protocol: "rest", URL: "localhost"} })), `entry web: url "localhost" is not of the form`},
		{"no topology", replay(tapePath, bent(func(t *target.Target) { t.Topology = "" })), "topology is missing"},
		{"no key", replay(tapePath, bent(func(t *target.Target) { t.JWTPrivateKey = "" })), "jwt_private_key is missing"},
		{"key not there", replay(tapePath, bent(func(t *target.Target) { t.JWTPrivateKey = "/no/key" })), "/no/key"},
		{"unknown protocol", replay(tapePath, bent(func(t *target.Target) { t.Entry["web"] = target.Entry{Protocol: "soap"} })), `unknown protocol "soap"; protocols: graphql, graphql-services, federation, rest, `},
		{"unknown channel", replay(tapePath, bent(func(t *target.Target) { t.Entry["fax"] = target.Entry{Protocol: "rest"} })), `unknown channel "fax"; channels: web`},
		{"a channel without an entry", replay(tapePath, bent(func(t *target.Target) { delete(t.Entry, "partner") })), `no entry for the channel "partner"`},
		{"no connections", replay(tapePath, goodTarget, "--connections", "0"), "--connections 0 is not between 1 and 1024"},
		{"trace above 1", replay(tapePath, goodTarget, "--trace", "1.5"), "--trace 1.5 is not between 0 and 1"},
		{"trace without a receiver", replay(tapePath, goodTarget, "--trace", "0.5"), "needs the field otlp"},
		{"no time", replay(tapePath, goodTarget, "--timeout", "0s"), "--timeout 0s is not above 0"},
		{"unknown priority", replay(tapePath, goodTarget, "--priority", "high"), `unknown priority "high"; priorities: auto, normal, prompt, realtime`},
		{"nowhere to write", []string{"replay", "--tape", tapePath, "--target", goodTarget}, "--out is missing"},
		{"no virtual users", replay(tapePath, goodTarget, "--vus", "0", "--duration", "1s"), "--vus 0 is not between 1 and 10000 (closed loop)"},
		{"negative virtual users", replay(tapePath, goodTarget, "--vus", "-3", "--duration", "1s"), "--vus -3 is not between 1 and 10000"},
		{"a step far above the rate", tape("--stairs", "1,101"), "factor 101 is not between 0 and 100"},
		{"steps of nothing", tape("--stairs", "0"), "all steps are 0"},
		{"steps that are rounded to nothing", tape("--stairs", "0.0001,0"), "all steps are 0"},
		{"a closed loop without an end", replay(tapePath, goodTarget, "--vus", "2"), "--duration 0s is not above 0"},
		{"negative time to think", replay(tapePath, goodTarget, "--vus", "2", "--duration", "1s", "--think", "-1s"), "--think -1s is negative"},
		{"an open loop with time to think", replay(tapePath, goodTarget, "--think", "1s"), "--think needs --vus"},
		{"an open loop with a duration", replay(tapePath, goodTarget, "--duration", "1s"), "--duration needs --vus"},
		{"unknown visit of the target", replay(tapePath, bent(func(t *target.Target) { t.Visit = "second" })), `unknown visit "second"; visits: warm, first`},
		{"unknown channel of the target's networks", replay(tapePath, bent(func(t *target.Target) {
			t.Networks = map[target.Channel]target.Network{"fax": {RTTMs: 70}}
		})), `networks: unknown channel "fax"; channels: web, mobile, partner`},
		{"hours of round-trip time", replay(tapePath, bent(func(t *target.Target) {
			t.Networks = map[target.Channel]target.Network{target.Web: {RTTMs: 7_200_000}}
		})), "networks web: a round-trip time of 2h0m0s is not between 0s and 2s"},
		{"a negative bandwidth", replay(tapePath, bent(func(t *target.Target) {
			t.Networks = map[target.Channel]target.Network{target.Web: {Up: -1}}
		})), "networks web: a bandwidth of -1 bit/s is neither 0 (no limit)"},
		{"a channel without a network", replay(tapePath, bent(func(t *target.Target) {
			t.Networks = map[target.Channel]target.Network{target.Web: {RTTMs: 70}, target.Mobile: {RTTMs: 70}}
		})), "lack the channel partner, which is on the tape"},
		{"unknown plan", replay(tapePath, bent(func(t *target.Target) { t.Plan = "lazy" })), `unknown plan "lazy"; plans: best, naive`},
		{"negative connections of the target", replay(tapePath, bent(func(t *target.Target) { t.Connections = -1 })), "connections -1 is not between 1 and 1024"},
		{"no entry at all", replay(tapePath, bent(func(t *target.Target) { t.Entry = nil })), "no entry for the channel"},
		{"a journey that is not transcoded", replay(tapePath, bent(func(t *target.Target) {
			t.Entry["web"] = target.Entry{Protocol: target.RESTTranscoded, URL: t.Entry["web"].URL}
		})), "which the protocol rest-transcoded does not have"},
		{"a shard that is none", replay(tapePath, goodTarget, "--shard", "3/3"), `invalid argument "3/3" for "--shard" flag: not of the form I/N, with N from 1 to 1000 and I from 0 to N-1`},
		{"a shard without a count", replay(tapePath, goodTarget, "--shard", "1"), `invalid argument "1" for "--shard"`},
		{"a shard without journeys", replay(tapePath, goodTarget, "--shard", "999/1000"), "shard 999/1000 of a tape of"},
		{"a closed loop in shards", replay(tapePath, goodTarget, "--shard", "0/2", "--vus", "2", "--duration", "1s"), "--shard needs an open loop"},
		{"a closed loop with a start instant", replay(tapePath, goodTarget, "--start-at", "1", "--vus", "2", "--duration", "1s"), "--start-at needs an open loop"},
		{"a node that does not wait", []string{"node", "--tape", tapePath, "--target", goodTarget, "--out", out, "--wait", "0s"}, "--wait 0s is not above 0"},
		{"a node without a target", []string{"node", "--tape", tapePath, "--out", out}, "--target is missing"},
		{"nothing to merge", []string{"merge", "--out", out}, "--part is missing"},
		{"echo of nothing", []string{"echo"}, "--http and --grpc are both missing"},
		{"echo nowhere", []string{"echo", "--http", "nowhere"}, "nowhere"},
		{"max of nothing", []string{"max"}, "give either --url or --grpc"},
		{"max of both", []string{"max", "--url", "http://127.0.0.1:1", "--grpc", "127.0.0.1:1"}, "give either --url or --grpc"},
		{"max with http 3", []string{"max", "--url", "http://127.0.0.1:1", "--http", "3"}, "--http is 3; versions: 1, 2"},
		{"max of a path over gRPC", []string{"max", "--grpc", "127.0.0.1:1", "--get", "/v1/products/1"}, "needs --url"},
		{"max of no path", []string{"max", "--url", "http://127.0.0.1:1", "--get", "v1"}, `--get "v1": it must be a path`},
		{"max without users", []string{"max", "--url", "http://127.0.0.1:1", "--vus", "0"}, "vus 0 is not between 1 and 10000"},
		{"max of no address", []string{"max", "--grpc", "here"}, `"here" is not of the form`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			code, _, stderr := run(t, c.args...)
			if code != exitBadInput || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 || strings.ContainsAny(stderr, "\x1b\x07\r") {
				t.Errorf("exit code %d, %q; expected %d and %q", code, stderr, exitBadInput, c.want)
			}
		})
	}
}

// An address that does not answer is not bad input, but an error that names the address, within a time limit.
func TestNoAnswer(t *testing.T) {
	shop := shoptest.Start(t)
	at := shop.Target(t, target.GraphQL, 2)
	at.Entry[target.Partner] = target.Entry{Protocol: target.REST, URL: "http://127.0.0.1:1"}
	tapePath, _ := makeTape(t)
	code, _, stderr := run(t, "replay", "--tape", tapePath, "--target", writeTarget(t, at), "--out", t.TempDir())
	if code != exitFailed || !strings.Contains(stderr, "http://127.0.0.1:1 does not answer") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"tape", "--help"}, {"sample", "--help"}, {"replay", "--help"}, {"watch", "--help"}, {"node", "--help"}, {"merge", "--help"}, {"echo", "--help"}, {"max", "--help"}} {
		code, stdout, _ := run(t, args...)
		if code != exitOK || !strings.Contains(stdout, "Usage:") {
			t.Errorf("%v: exit code %d: %s", args, code, stdout)
		}
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every held connection has carried a request, regardless of the journeys on the tape; a wrong answer ends the command.
func TestHoldUsesEachConnection(t *testing.T) {
	tapePath, _ := makeTape(t)
	for _, protocol := range []target.Protocol{target.GRPC, target.GraphQL} {
		shop := shoptest.Start(t)
		targetPath := writeTarget(t, shop.Target(t, protocol, 2))
		code, stdout, stderr := run(t, "hold", "--tape", tapePath, "--target", targetPath, "--connections", "40") // its input has ended
		if code != exitOK || stdout != `{"connections_dialed":40,"journeys":40}`+"\n" {
			t.Errorf("%s: %d, %s%s", protocol, code, stdout, stderr)
		}
	}
	shop := shoptest.Start(t)
	targetPath := writeTarget(t, shop.Target(t, target.REST, 2))
	shop.Fault = func(w http.ResponseWriter, _ shoptest.Seen) bool { w.WriteHeader(http.StatusBadGateway); return true }
	if code, _, stderr := run(t, "hold", "--tape", tapePath, "--target", targetPath); code != exitFailed || !strings.Contains(stderr, "journey 1 of 4 failed: server") {
		t.Errorf("%d, %s", code, stderr)
	}
}
