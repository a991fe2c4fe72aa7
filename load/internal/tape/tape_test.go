package tape

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hopwise/load/internal/draw"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/jsonline"
	"hopwise/load/internal/shopdata"
	"hopwise/load/internal/workload"
)

func defaultSpec(t testing.TB) Spec {
	t.Helper()
	return Spec{Workload: load(t, "testdata/shop.yaml"), Seed: 1, Rate: 50, Duration: 20 * time.Second, Scale: 1}
}

func load(t testing.TB, path string) workload.Workload {
	t.Helper()
	w, err := workload.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func build(t testing.TB, s Spec) *Tape {
	t.Helper()
	made, err := Build(s)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func encode(t testing.TB, made *Tape) []byte {
	t.Helper()
	text, err := made.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The golden digest pins a tape's bytes, and may change only with Format or Generator: equal digests mean equal loads.
func TestGoldenDigest(t *testing.T) {
	const golden = "9a77df3223327f82333b1647bef275910fba080260c5332d1ee11dca8d56b527"
	made := build(t, defaultSpec(t))
	encode(t, made)
	if made.SHA256 != golden {
		t.Errorf("SHA-256 is %s, expected %s", made.SHA256, golden)
	}
}

// The law of tapes: equal inputs give equal bytes, and different inputs give different bytes.
func TestSameInputSameBytes(t *testing.T) {
	base := defaultSpec(t)
	want := encode(t, build(t, base))
	for range 5 {
		if !bytes.Equal(want, encode(t, build(t, base))) {
			t.Fatal("the same specification gave another tape")
		}
	}
	changes := map[string]func(*Spec){
		"seed":     func(s *Spec) { s.Seed = 2 },
		"rate":     func(s *Spec) { s.Rate = 51 },
		"duration": func(s *Spec) { s.Duration = 21 * time.Second },
		"scale":    func(s *Spec) { s.Scale = 2 },
		"pool":     func(s *Spec) { s.Pool = shopdata.PoolParity },
		"mix":      func(s *Spec) { s.Workload.Mix = slices.Clone(s.Workload.Mix); s.Workload.Mix[0].Weight *= 2 },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			other := base
			change(&other)
			if bytes.Equal(want, encode(t, build(t, other))) {
				t.Errorf("another %s gave the same tape", name)
			}
		})
	}
}

// A payload is a property of the tape: the header has it, and it affects only which documents are read.
func TestPayload(t *testing.T) {
	spec := Spec{Workload: load(t, "../../workloads/document.yaml"), Seed: 1, Rate: 20, Duration: 10 * time.Second, Scale: 1}
	made := build(t, spec)
	if made.Header.Payload != shopdata.DefaultPayload {
		t.Errorf("payload %q", made.Header.Payload)
	}
	for _, spec.Payload = range shopdata.Payloads() {
		other := build(t, spec)
		if same := bytes.Equal(encode(t, other), encode(t, made)); same != (spec.Payload == shopdata.DefaultPayload) {
			t.Errorf("%s: the same tape: %v", spec.Payload, same)
		}
		for i, e := range other.Entries {
			if e.AtNs != made.Entries[i].AtNs || !contains(shopdata.Documents(spec.Payload), e.Params.DocumentID) {
				t.Fatalf("%s: %+v", spec.Payload, e)
			}
		}
	}
}

// Without a kind of journey, all others keep the numbers, times and parameters of the whole tape.
func TestWithoutAJourney(t *testing.T) {
	spec := defaultSpec(t)
	whole := build(t, spec)
	spec.Without = whole.Entries[0].Journey
	rest := build(t, spec)
	left := slices.DeleteFunc(slices.Clone(whole.Entries), func(e journey.Entry) bool { return e.Journey == spec.Without })
	if len(left) == len(whole.Entries) || !reflect.DeepEqual(rest.Entries, left) {
		t.Errorf("%d journeys are left of %d, and not those that are expected", len(rest.Entries), len(whole.Entries))
	}
	if rest.Numbers() != int(left[len(left)-1].Seq)+1 {
		t.Errorf("%d numbers", rest.Numbers())
	}
	read, err := Decode(encode(t, rest))
	if err != nil || !reflect.DeepEqual(read.Entries, rest.Entries) {
		t.Fatalf("not read as written: %v", err)
	}
	if _, err := rest.Shard(Shard{Index: 0, Count: 2}); err == nil {
		t.Error("a tape with gaps was sharded")
	}
	spec.Without = "bulk"
	if _, err := Build(spec); err == nil || !strings.Contains(err.Error(), `unknown journey "bulk"`) {
		t.Errorf("left out what is not there: %v", err)
	}
}

// In a cycle every entry of the mix occurs exactly as often as its weight says, spread over the cycle, for any seed.
func TestCycle(t *testing.T) {
	weighted, err := workload.Parse("weighted.yaml", []byte(`
name: weighted
arrival: {process: constant}
order: cycle
mix:
  - {journey: browse, channel: web, weight: 5}
  - {journey: product, channel: mobile, weight: 0}
  - {journey: login, channel: mobile, weight: 1}
  - {journey: bulk_lines, channel: partner, weight: 3}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []workload.Workload{load(t, "../../workloads/even.yaml"), weighted} {
		size := 0
		for _, share := range w.Mix {
			size += int(share.Times())
		}
		for seed := range uint64(3) {
			const cycles = 50
			made := build(t, Spec{Workload: w, Seed: seed, Rate: float64(cycles * size), Duration: time.Second, Scale: 1, Pool: shopdata.PoolParity})
			if len(made.Entries) != cycles*size {
				t.Fatalf("%s: %d journeys", w.Name, len(made.Entries))
			}
			for cycle := range slices.Chunk(made.Entries, size) {
				for _, share := range w.Mix {
					count := int64(0)
					for _, e := range cycle {
						if e.Journey == share.Journey && e.Channel == share.Channel {
							count++
						}
					}
					if count != share.Times() {
						t.Fatalf("%s: %s through %s comes %d times in a cycle instead of %d", w.Name, share.Journey, share.Channel, count, share.Times())
					}
				}
			}
			if w.Name == "weighted" {
				for i := range made.Entries[2:] {
					if e := made.Entries[i : i+3]; e[0].Journey == e[1].Journey && e[1].Journey == e[2].Journey {
						t.Errorf("%s comes three times in a row", e[0].Journey)
					}
				}
			}
		}
	}
}

// For every process, arrivals are sorted, lie within the duration, and come at about the requested rate.
func TestArrivals(t *testing.T) {
	cases := []struct {
		name    string
		arrival workload.Arrival
		factor  float64
	}{
		{"independent customers at one rate", workload.Arrival{Process: workload.Poisson}, 1},
		{"evenly spaced", workload.Arrival{Process: workload.Constant}, 1},
		{"steps of half, one and two", workload.Arrival{Process: workload.Staircase, Steps: []int64{500, 1000, 2000}}, 3.5 / 3},
		{"from nothing to double", workload.Arrival{Process: workload.Ramp, From: 0, To: 2000}, 1},
		{"from double to nothing", workload.Arrival{Process: workload.Ramp, From: 2000, To: 0}, 1},
	}
	const rate, seconds = 100.0, 60
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(20) {
				times := arrivals(c.arrival, rate, seconds*time.Second, draw.NewSource("arrivals", seed))
				if !slices.IsSorted(times) {
					t.Fatalf("seed %d: arrivals are not sorted", seed)
				}
				if times[0] < 0 || times[len(times)-1] >= seconds*1e9 {
					t.Fatalf("seed %d: arrivals from %d to %d", seed, times[0], times[len(times)-1])
				}
				// Tolerates six standard deviations of a Poisson count.
				want := rate * seconds * c.factor
				if got := float64(len(times)); (got-want)*(got-want) > 36*want {
					t.Errorf("seed %d: %v arrivals, about %v expected", seed, got, want)
				}
			}
		})
	}
}

// A staircase has steps, and a ramp rises: the halves of a run differ.
func TestArrivalsFollowTheRate(t *testing.T) {
	for _, a := range []workload.Arrival{
		{Process: workload.Staircase, Steps: []int64{500, 1500}},
		{Process: workload.Ramp, From: 0, To: 2000},
	} {
		times := arrivals(a, 100, time.Minute, draw.NewSource("arrivals", 7))
		half, _ := slices.BinarySearch(times, 30e9)
		if share := float64(half) / float64(len(times)); share < 0.2 || share > 0.3 {
			t.Errorf("%s: the first half has %.2f of the arrivals, a quarter expected", a.Process, share)
		}
	}
}

// Parameters stay in the ranges that separate reads from writes, in both pools and at every scale.
func TestParamsStayInTheirPools(t *testing.T) {
	for _, pool := range shopdata.Pools() {
		for _, scale := range []shopdata.Scale{1, 3} {
			spec := defaultSpec(t)
			spec.Workload = load(t, "../../workloads/updates.yaml") // together with the journey document, this has every journey
			spec.Workload.Mix = append(spec.Workload.Mix, load(t, "../../workloads/document.yaml").Mix...)
			spec.Pool, spec.Scale, spec.Rate, spec.Payload = pool, scale, 500, "100KB"
			keys := map[string]bool{}
			for _, e := range build(t, spec).Entries {
				checkParams(t, e, pool, scale, keys)
			}
		}
	}
}

func contains(r shopdata.Range, id int64) bool { return id >= r.First && id <= r.Last }

func checkParams(t *testing.T, e journey.Entry, pool shopdata.Pool, scale shopdata.Scale, keys map[string]bool) {
	t.Helper()
	p := e.Params
	inside := map[journey.Name]bool{
		journey.Browse:        p.Category >= "c0000" && p.Category <= shopdata.CategoryName(80*int64(scale)-1),
		journey.Product:       contains(scale.ReadProducts(), p.ProductID),
		journey.Login:         contains(scale.LoginUsers(), p.UserID),
		journey.OrderHistory:  contains(scale.Regulars(), p.UserID),
		journey.Checkout:      contains(scale.CheckoutUsers(pool), p.UserID),
		journey.UpdateProfile: contains(scale.ProfileUsers(pool), p.UserID),
		journey.OrderStatus:   contains(scale.Orders(), p.OrderID),
		journey.BulkLines:     p.AfterLineID != nil && contains(scale.BulkStarts(), *p.AfterLineID),
		journey.Notifications: contains(scale.Regulars(), p.UserID),
		journey.Document:      p.DocumentID > 60 && p.DocumentID <= 65,
	}
	if !inside[e.Journey] {
		t.Errorf("pool %s, scale %d: %s has parameters %+v", pool, scale, e.Journey, p)
	}
	if e.Journey != journey.Checkout {
		return
	}
	if keys[p.IdempotencyKey] {
		t.Errorf("the idempotency key %s comes twice", p.IdempotencyKey)
	}
	keys[p.IdempotencyKey] = true
	if len(p.Lines) < 1 || len(p.Lines) > 5 {
		t.Errorf("a checkout of %d lines", len(p.Lines))
	}
	for i, line := range p.Lines {
		if !contains(scale.CheckoutProducts(pool), line.ProductID) || line.Quantity < 1 || line.Quantity > 2 {
			t.Errorf("line %+v", line)
		}
		if i > 0 && line.ProductID <= p.Lines[i-1].ProductID {
			t.Errorf("products do not ascend: %+v", p.Lines)
		}
	}
}

// A warm-up with another seed or length must not use a key of the trial, whose checkout would seem repeated.
func TestIdempotencyKeysOfTwoTapesDiffer(t *testing.T) {
	keys := map[string]bool{}
	for _, change := range []func(*Spec){
		func(*Spec) {},
		func(s *Spec) { s.Seed = 2 },
		func(s *Spec) { s.Duration = 5 * time.Second },
		func(s *Spec) { s.Pool = shopdata.PoolParity },
	} {
		spec := defaultSpec(t)
		change(&spec)
		for _, e := range build(t, spec).Entries {
			if e.Journey != journey.Checkout {
				continue
			}
			if keys[e.Params.IdempotencyKey] {
				t.Fatalf("key %s is on two tapes", e.Params.IdempotencyKey)
			}
			keys[e.Params.IdempotencyKey] = true
		}
	}
}

func TestWriteAndRead(t *testing.T) {
	made := build(t, defaultSpec(t))
	path := filepath.Join(t.TempDir(), "tape.jsonl")
	if err := made.Write(path); err != nil {
		t.Fatal(err)
	}
	read, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if read.SHA256 != made.SHA256 || len(read.Entries) != len(made.Entries) {
		t.Errorf("read %d journeys of %s, wrote %d of %s", len(read.Entries), read.SHA256, len(made.Entries), made.SHA256)
	}
	if !bytes.Equal(encode(t, made), encode(t, read)) {
		t.Error("what was read differs from what was written")
	}
}

// seal returns a tape of one arbitrary line, under a header with a valid digest.
func seal(t testing.TB, line string) string {
	t.Helper()
	made := build(t, defaultSpec(t))
	made.Header.Journeys, made.Header.BodySHA256 = 1, digest([]byte(line+"\n"))
	var whole bytes.Buffer
	if err := jsonline.NewEncoder(&whole).Encode(made.Header); err != nil {
		t.Fatal(err)
	}
	return whole.String() + line + "\n"
}

// A small file that decompresses to a large one is refused before it is in memory.
func TestTapeOfZeros(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tape.jsonl.gz")
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	for range 4 {
		if _, err := writer.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(writer.Close(), os.WriteFile(path, packed.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), path+": not a tape: ") {
		t.Errorf("error is %v", err)
	}
}

// A damaged tape is refused with the cause; half a tape would be a different load under the same name.
func TestDamagedTapes(t *testing.T) {
	whole := string(encode(t, build(t, defaultSpec(t))))
	header, _, _ := strings.Cut(whole, "\n")
	cases := []struct{ name, text, want string }{
		{"empty file", "", "not the header"},
		{"no header", strings.TrimPrefix(whole, header+"\n"), "not the header"},
		{"some other text", "hello\nworld\n", "not the header"},
		{"cut within a line", whole[:len(whole)-10], "cut short"},
		{"cut after a line", whole[:strings.LastIndex(strings.TrimSuffix(whole, "\n"), "\n")+1], "cut short"},
		{"header only", header + "\n", "cut short"},
		{"a changed journey", strings.Replace(whole, `"user_id":2185`, `"user_id":2186`, 1), "changed after it was made"},
		{"a journey too many", whole + `{"seq":959}` + "\n", "changed after it was made"},
		{"an unknown format", strings.Replace(whole, Format, "hopwise-tape/9", 1), "this program reads"},
		{"another generator", strings.Replace(whole, draw.Generator, "dice/1", 1), "make the tape again"},
		{"fewer than no journeys", strings.Replace(whole, `"journeys":`, `"journeys":-`, 1), " journeys; a tape has 1 to 5000000"},
		{"more journeys than there can be", strings.Replace(whole, `"journeys":`, `"journeys":9000`, 1), "a tape has 1 to 5000000"},
		{"a header of brackets", strings.Repeat("[", 20_000) + "\n", "not the header"},
		{"a header that is no UTF-8", "\xff\n" + whole, "not the header"},
		{"a duration that is none", strings.Replace(whole, `"duration_ns":`, `"duration_ns":-`, 1), "line 2: at_ns"},
		{"a journey of brackets", seal(t, strings.Repeat("[", 20_000)), "line 2: "},
		{"a journey that is no UTF-8", seal(t, "{\"seq\":0,\"journey\":\"\xff\"}"), "line 2: "},
		{"an endless journey", seal(t, strings.Repeat(" ", maxLineBytes+1)), "token too long"},
		{"two journeys in a line", seal(t, "{} {}"), "line 2: more than one value"},
		{"a scale of none", strings.Replace(whole, `"scale":1`, `"scale":0`, 1), "scale 0"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Decode([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, expected one about %q", err, c.want)
			}
		})
	}
}

// Journeys under a valid digest are still checked one by one, because another program may have made the tape.
func TestInvalidJourneys(t *testing.T) {
	cases := []struct {
		name   string
		change func(*Tape)
		want   string
	}{
		{"unknown journey", func(t *Tape) { t.Entries[1].Journey = "dance" }, `unknown journey "dance"; journeys: browse`},
		{"unknown channel", func(t *Tape) { t.Entries[1].Channel = "fax" }, `unknown channel "fax"; channels: web`},
		{"a channel that may not", func(t *Tape) { t.Entries[0].Channel = "partner" }, "channels that can: web, mobile"},
		{"a parameter missing", func(t *Tape) { t.Entries[0].Params = journey.Params{} }, `needs the parameter "user_id"`},
		{"a number missing", func(t *Tape) { t.Entries[1].Seq = 7 }, "seq is 7, expected 1"},
		{"back in time", func(t *Tape) { t.Entries[1].AtNs = 0 }, "at_ns 0 is not between"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			made := build(t, defaultSpec(t))
			c.change(made)
			_, err := Decode(encode(t, made))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, expected one about %q", err, c.want)
			}
		})
	}
}

func TestInvalidSpecs(t *testing.T) {
	cases := []struct {
		name   string
		change func(*Spec)
		want   string
	}{
		{"negative rate", func(s *Spec) { s.Rate = -1 }, "rate -1 is not between 0.00001 and 1000000"},
		{"no rate", func(s *Spec) { s.Rate = 0 }, "rate 0 is not between 0.00001 and 1000000"},
		{"gaps of centuries", func(s *Spec) { s.Rate = 1e-10 }, "rate 1e-10 is not between 0.00001 and 1000000"},
		{"no duration", func(s *Spec) { s.Duration = 0 }, "duration 0s is not above 0"},
		{"too many journeys", func(s *Spec) { s.Rate, s.Duration = 1e6, time.Hour }, "more than 5000000 journeys"},
		{"too many journeys by chance", func(s *Spec) { s.Seed, s.Rate, s.Duration = 2, 1e6, 5*time.Second }, "more than 5000000 journeys"},
		{"scale of none", func(s *Spec) { s.Scale = 0 }, "scale 0 is not between 1"},
		{"unknown pool", func(s *Spec) { s.Pool = "sea" }, `unknown pool "sea"; pools: trial, parity`},
		{"too short for one journey", func(s *Spec) { s.Rate, s.Duration = 0.001, time.Millisecond }, "gives no journey"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			spec := defaultSpec(t)
			c.change(&spec)
			if _, err := Build(spec); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, expected one about %q", err, c.want)
			}
		})
	}
}
