package workload

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hopwise/load/internal/journey"
)

// Every workload file of the project is valid. The default one has all journeys except those with a separate workload:
// document, notifications, and screens that show a part of a resource.
func TestShippedWorkloads(t *testing.T) {
	usual := slices.DeleteFunc(journey.Names(), func(n journey.Name) bool {
		return n == journey.Document || n == journey.Notifications || n.Shows() != nil
	})
	paths, err := filepath.Glob("../../workloads/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal("no workload files found", err)
	}
	for _, path := range paths {
		w, err := Load(path)
		if err != nil {
			t.Error(err)
			continue
		}
		inMix := map[journey.Name]bool{}
		for _, share := range w.Mix {
			inMix[share.Journey] = true
		}
		if inOrder := slices.Sorted(maps.Keys(inMix)); filepath.Base(path) == "default.yaml" && !slices.Equal(inOrder, slices.Sorted(slices.Values(usual))) {
			t.Errorf("%s has the journeys %v, want %v", path, inOrder, usual)
		}
	}
}

// Networks in a workload are for the maker of the target; they do not change the tape.
func TestNetworksAreIgnored(t *testing.T) {
	const mix = "mix:\n  - {journey: browse, channel: web, weight: 1}\n"
	near, err := Parse("w.yaml", []byte(head+mix))
	if err != nil {
		t.Fatal(err)
	}
	for _, networks := range []string{"networks: {web: wifi}\n", "networks:\n  web: {rtt: 40ms, bandwidth: 10mbit/2mbit}\n"} {
		if far, err := Parse("w.yaml", []byte(head+networks+mix)); err != nil || !reflect.DeepEqual(far, near) {
			t.Errorf("%s%+v, %v", networks, far, err)
		}
	}
}

const head = "name: x\nabout: y\n"

// A wrong file is refused; the error names it, the line of the invalid value and, for closed lists, the valid values.
func TestRefusals(t *testing.T) {
	const mix = "mix:\n  - {journey: browse, channel: web, weight: 1}\n"
	cases := []struct{ name, text, want string }{
		{"no YAML", "name: [x\n", "w.yaml:1: "},
		{"an unknown field", head + "speed: 3\n" + mix, `w.yaml:3: unknown field "speed"`},
		{"an unknown field of the mix", head + "mix:\n  - {journey: browse, chanel: web, weight: 1}\n", `w.yaml:4: unknown field "chanel"`},
		{"a text for a number", head + "mix:\n  - {journey: browse, channel: web, weight: often}\n", "w.yaml:4: "},
		{"no name", mix, "w.yaml: the workload needs a name"},
		{"no mix", head, "w.yaml: mix needs at least one"},
		{"unknown journey", head + "mix:\n  - {journey: dance, channel: web, weight: 1}\n", `w.yaml:4: unknown journey "dance"; journeys: browse, product`},
		{"unknown channel", head + "mix:\n  - journey: browse\n    channel: fax\n    weight: 1\n", `w.yaml:5: unknown channel "fax"; channels: web, mobile, partner`},
		{"a channel that may not", head + "mix:\n  - {journey: bulk_lines, channel: web, weight: 1}\n", "w.yaml:4: channel \"web\" cannot send journey \"bulk_lines\"; channels that can: partner"},
		{"negative weight", head + "mix:\n  - {journey: browse, channel: web, weight: -1}\n", "w.yaml:4: weight -1 is not between 0"},
		{"only zero weights", head + "mix:\n  - {journey: browse, channel: web, weight: 0}\n", "all weights are 0"},
		{"twice the same", head + mix + "  - {journey: browse, channel: web, weight: 2}\n", "w.yaml:5: browse through web is in the mix twice"},
		{"unknown process", head + "arrival: {process: bus}\n" + mix, `w.yaml:3: unknown arrival process "bus"; processes: poisson, constant, staircase, ramp`},
		{"unknown pool", head + "pool: sea\n" + mix, `w.yaml:3: unknown pool "sea"; pools: trial, parity`},
		{"unknown order", head + "order: chaos\n" + mix, `w.yaml:3: unknown order "chaos"; orders: random, cycle`},
		{"half a journey in a cycle", head + "order: cycle\nmix:\n  - {journey: browse, channel: web, weight: 0.5}\n", "w.yaml:5: weight 0.5 is not a whole number, which the order cycle needs"},
		{"a cycle without an end", head + "order: cycle\nmix:\n  - {journey: browse, channel: web, weight: 10001}\n", "a cycle has at most 10000 journeys"},
		{"staircase without steps", head + "arrival: {process: staircase}\n" + mix, "w.yaml:3: steps go with the process staircase"},
		{"steps without staircase", head + "arrival: {steps: [1]}\n" + mix, "w.yaml:3: steps go with"},
		{"negative step", head + "arrival: {process: staircase, steps: [1, -1]}\n" + mix, "w.yaml:3: factor -1 is not between 0 and 100"},
		{"only zero steps", head + "arrival: {process: staircase, steps: [0, 0.0001]}\n" + mix, "w.yaml:3: all steps are 0"},
		{"ramp without an end", head + "arrival: {process: ramp, from: 1}\n" + mix, "w.yaml:3: the process ramp needs from and to"},
		{"ramp of nothing", head + "arrival: {process: ramp, from: 0, to: 0}\n" + mix, "w.yaml:3: from and to are both 0"},
		{"from without ramp", head + "arrival: {process: poisson, from: 1}\n" + mix, "from and to go with the process ramp only"},
		{"a weight that is no number", head + "mix:\n  - {journey: browse, channel: web, weight: .nan}\n", "weight NaN is not between 0"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("w.yaml", []byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, expected %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has more than one line: %q", err)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	w, err := Parse("w.yaml", []byte(head+"mix:\n  - {journey: browse, channel: web, weight: 0.5}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if w.Arrival.Process != Poisson || w.Pool != "trial" || w.Mix[0].Weight != 500 {
		t.Errorf("got %+v", w)
	}
}

// The error for a missing file names it. Files that would cost a parser too much are refused before they are parsed.
func TestHostileFiles(t *testing.T) {
	aliases := "name: x\nnetworks:\n  a: &a [x, x, x]\n"
	for one := 'b'; one <= 'h'; one++ {
		aliases += fmt.Sprintf("  %c: &%c [%s*%c]\n", one, one, strings.Repeat(fmt.Sprintf("*%c, ", one-1), 8), one-1)
	}
	const deep = 5000
	indented := ""
	for depth := range 150 {
		indented += strings.Repeat(" ", depth) + "a:\n"
	}
	cases := []struct{ name, text, want string }{
		{"nested aliases", aliases, "w.yaml:3: anchors and aliases are not accepted"},
		{"an alias of nothing", "name: *x\n", "w.yaml:1: anchors and aliases"},
		{"an alias of itself", "name: &x [*x]\n", "w.yaml:1: anchors and aliases"},
		{"a merge", "name: x\n<<: {about: y}\n", "w.yaml:2: anchors and aliases"},
		{"brackets", "name: " + strings.Repeat("[", deep), "w.yaml:1: nested too deeply"},
		{"braces", "name: x\nabout: " + strings.Repeat("{a: ", deep/2), "w.yaml:2: nested too deeply"},
		{"dashes", strings.Repeat("- ", deep) + "x", "w.yaml:1: nested too deeply"},
		{"question marks", strings.Repeat("? ", deep) + "x", "w.yaml:1: nested too deeply"},
		{"indentation", indented, "w.yaml:1: "},
		{"tags", "name: " + strings.Repeat("!!str ", deep/2) + "x\n", "w.yaml: "},
		{"many keys", strings.Repeat("name: x\n", 2000), "w.yaml:2: "},
		{"many documents", strings.Repeat("---\nname: x\n", 1000), "w.yaml: "},
		{"comments only", strings.Repeat("#\n", deep), "w.yaml: "},
		{"too many bytes", "name: x\nabout: " + strings.Repeat("y", maxBytes), "w.yaml: the file has 16399 bytes; a workload has at most 16384"},
		{"no UTF-8", "name: x\nabout: \xff\n", "w.yaml:2: not UTF-8"},
		{"UTF-16", "\xff\xfen\x00a\x00m\x00e\x00", "w.yaml:1: not UTF-8"},
		{"a NUL", "name: x\nabout: \x00\n", "w.yaml"},
		{"an escape sequence", "name: \"\\e[31m\"\n", `w.yaml:1: name "\x1b[31m" has a character that cannot be printed`},
		{"a raw escape sequence", "name: x\nabout: \x1b]0;x\x07\n", "w.yaml:2: about "},
		{"a text written backwards", "name: \"x\\u202e\"\n", "w.yaml:1: name "},
		{"two lines", "name: |\n  x\n  y\n", "w.yaml:1: name "},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Parse("w.yaml", []byte(c.text))
			runtime.ReadMemStats(&after)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error is %v, expected %q", err, c.want)
			}
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 100<<20 {
				t.Errorf("%d bytes of YAML took %d bytes", len(c.text), taken)
			}
		})
	}
}

func TestMissingFile(t *testing.T) {
	_, err := Load("no/such.yaml")
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "no/such.yaml") {
		t.Errorf("error is %v", err)
	}
}
