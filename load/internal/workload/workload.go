// Package workload reads the YAML files of workloads: the journeys, their mix, and the arrivals.
package workload

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"hopwise/load/internal/choice"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/shopdata"
	"hopwise/load/internal/target"
)

type Process string

const (
	Poisson   Process = "poisson"   // independent customers at a steady rate
	Constant  Process = "constant"  // evenly spaced
	Staircase Process = "staircase" // independent customers; the rate changes in equally long steps
	Ramp      Process = "ramp"      // independent customers; the rate changes linearly
)

var processes = []Process{Poisson, Constant, Staircase, Ramp}

// Order is the order in which the journeys of the mix take place.
type Order string

const (
	Random Order = "random" // drawn by weight, independently
	Cycle  Order = "cycle"  // in turn: each cycle has every entry of the mix as often as its weight says
)

var orders = []Order{Random, Cycle}

const (
	maxFactor = 100
	maxWeight = 1e6
	maxCycle  = 10_000
	// perMille scales factors and weights to integers, so that a tape has the same bytes on every processor.
	perMille = 1000
)

type Workload struct {
	Name    string
	About   string
	Arrival Arrival
	Order   Order
	Pool    shopdata.Pool
	Mix     []Share
}

func (w Workload) Journeys() []journey.Name {
	var names []journey.Name
	for _, share := range w.Mix {
		if !slices.Contains(names, share.Journey) {
			names = append(names, share.Journey)
		}
	}
	return names
}

// Arrival describes the arrivals; factors multiply the tape's rate, in thousandths.
type Arrival struct {
	Process Process
	Steps   []int64 // staircase: factor of each step
	From    int64   // ramp: factor at the start
	To      int64   // ramp: factor at the end
}

type Share struct {
	Journey journey.Name
	Channel target.Channel
	Weight  int64 // in thousandths, relative to the sum of all weights
}

type file struct {
	Name    string `yaml:"name"`
	About   string `yaml:"about"`
	Arrival struct {
		Process Process   `yaml:"process"`
		Steps   []float64 `yaml:"steps"`
		From    *float64  `yaml:"from"`
		To      *float64  `yaml:"to"`
	} `yaml:"arrival"`
	Order Order         `yaml:"order"`
	Pool  shopdata.Pool `yaml:"pool"`
	// Not used here: the target sets the network between customers and edge, so that a tape is the same at every distance.
	Networks any `yaml:"networks"`
	Mix      []struct {
		Journey journey.Name   `yaml:"journey"`
		Channel target.Channel `yaml:"channel"`
		Weight  float64        `yaml:"weight"`
	} `yaml:"mix"`
}

func Load(path string) (Workload, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Workload{}, fmt.Errorf("workload: %w", err)
	}
	return Parse(path, text)
}

// Parse checks the text of a workload file; path is for messages only.
func Parse(path string, text []byte) (Workload, error) {
	return ParseFor(path, text, journey.Name.CheckSender)
}

// ParseFor is Parse for other targets' journeys; permit returns an error if a channel may not send a journey.
func ParseFor(path string, text []byte, permit func(journey.Name, target.Channel) error) (Workload, error) {
	if err := readable(path, text); err != nil {
		return Workload{}, err
	}
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return Workload{}, syntaxError(path, err)
	}
	var f file
	decoder := yaml.NewDecoder(bytes.NewReader(text), yaml.DisallowUnknownField())
	if err := decoder.Decode(&f); err != nil {
		return Workload{}, syntaxError(path, err)
	}
	c := checker{path: path, tree: tree, permit: permit}
	return c.check(f)
}

// syntaxError keeps position and reason from the parser's message, and leaves out the excerpt of the source.
func syntaxError(path string, err error) error {
	var detailed yaml.Error
	if errors.As(err, &detailed) && detailed.GetToken() != nil {
		return fmt.Errorf("%s:%d: %s", path, detailed.GetToken().Position.Line, detailed.GetMessage())
	}
	return fmt.Errorf("%s: %s", path, strings.SplitN(err.Error(), "\n", 2)[0])
}

type checker struct {
	path   string
	tree   *ast.File
	permit func(journey.Name, target.Channel) error
}

// fail returns an error with the file, the line of the invalid value (or of its parent, if absent) and the reason.
func (c checker) fail(where, format string, args ...any) error {
	for at := where; at != ""; at = at[:max(strings.LastIndexAny(at, ".["), 0)] {
		if at == "$" {
			break
		}
		query, err := yaml.PathString(at)
		if err != nil {
			continue
		}
		if node, err := query.FilterFile(c.tree); err == nil && node != nil {
			return fmt.Errorf("%s:%d: %s", c.path, node.GetToken().Position.Line, fmt.Sprintf(format, args...))
		}
	}
	return fmt.Errorf("%s: %s", c.path, fmt.Sprintf(format, args...))
}

func (c checker) check(f file) (Workload, error) {
	w := Workload{Name: f.Name, About: f.About, Pool: cmp.Or(f.Pool, shopdata.PoolTrial), Order: cmp.Or(f.Order, Random)}
	if w.Name == "" {
		return Workload{}, c.fail("$.name", "the workload needs a name")
	}
	for _, field := range []struct{ name, value string }{{"name", w.Name}, {"about", w.About}} {
		if strings.ContainsFunc(field.value, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return Workload{}, c.fail("$."+field.name, "%s %.40q has a character that cannot be printed", field.name, field.value)
		}
	}
	if err := choice.Check(w.Pool, shopdata.Pools(), "pool", "pools"); err != nil {
		return Workload{}, c.fail("$.pool", "%s", err)
	}
	if err := choice.Check(w.Order, orders, "order", "orders"); err != nil {
		return Workload{}, c.fail("$.order", "%s", err)
	}
	if err := c.arrival(f, &w.Arrival); err != nil {
		return Workload{}, err
	}
	if len(f.Mix) == 0 {
		return Workload{}, c.fail("$.mix", "mix needs at least one {journey, channel, weight}")
	}
	total := int64(0)
	for i, m := range f.Mix {
		here := fmt.Sprintf("$.mix[%d]", i)
		if err := c.permit(m.Journey, m.Channel); err != nil {
			field := ".journey"
			if m.Journey.Known() {
				field = ".channel"
			}
			return Workload{}, c.fail(here+field, "%s", err)
		}
		if !(m.Weight >= 0 && m.Weight <= maxWeight) {
			return Workload{}, c.fail(here+".weight", "weight %v is not between 0 and %v", m.Weight, maxWeight)
		}
		if w.Order == Cycle && m.Weight != math.Trunc(m.Weight) {
			return Workload{}, c.fail(here+".weight", "weight %v is not a whole number, which the order cycle needs", m.Weight)
		}
		share := Share{m.Journey, m.Channel, toPerMille(m.Weight)}
		if slices.ContainsFunc(w.Mix, func(s Share) bool { return s.Journey == share.Journey && s.Channel == share.Channel }) {
			return Workload{}, c.fail(here+".journey", "%s through %s is in the mix twice", share.Journey, share.Channel)
		}
		w.Mix = append(w.Mix, share)
		total += share.Weight
	}
	if total == 0 {
		return Workload{}, c.fail("$.mix", "all weights are 0")
	}
	if w.Order == Cycle && total > maxCycle*perMille {
		return Workload{}, c.fail("$.mix", "the weights add up to %d; a cycle has at most %d journeys", total/perMille, maxCycle)
	}
	return w, nil
}

func (c checker) arrival(f file, a *Arrival) error {
	given := f.Arrival
	a.Process = cmp.Or(given.Process, Poisson)
	if err := choice.Check(a.Process, processes, "arrival process", "processes"); err != nil {
		return c.fail("$.arrival.process", "%s", err)
	}
	if (len(given.Steps) > 0) != (a.Process == Staircase) {
		return c.fail("$.arrival.steps", "steps go with the process staircase, which needs them (process is %s)", a.Process)
	}
	if (given.From != nil || given.To != nil) && a.Process != Ramp {
		return c.fail("$.arrival.process", "from and to go with the process ramp only (process is %s)", a.Process)
	}
	if a.Process == Ramp && (given.From == nil || given.To == nil) {
		return c.fail("$.arrival.process", "the process ramp needs from and to")
	}
	for i, step := range given.Steps {
		factor, err := factorOf(step)
		if err != nil {
			return c.fail(fmt.Sprintf("$.arrival.steps[%d]", i), "%s", err)
		}
		a.Steps = append(a.Steps, factor)
	}
	if a.Process == Staircase && slices.Max(a.Steps) == 0 {
		return c.fail("$.arrival.steps", "all steps are 0")
	}
	if a.Process == Ramp {
		var err error
		if a.From, err = factorOf(*given.From); err != nil {
			return c.fail("$.arrival.from", "%s", err)
		}
		if a.To, err = factorOf(*given.To); err != nil {
			return c.fail("$.arrival.to", "%s", err)
		}
		if a.From == 0 && a.To == 0 {
			return c.fail("$.arrival.from", "from and to are both 0")
		}
	}
	return nil
}

// Times returns how often the entry occurs in a cycle.
func (s Share) Times() int64 { return s.Weight / perMille }

// InStairs returns arrivals in equally long steps; each step is the factor by which the tape's rate is multiplied.
func InStairs(steps []float64) (Arrival, error) {
	made := Arrival{Process: Staircase}
	for _, step := range steps {
		factor, err := factorOf(step)
		if err != nil {
			return Arrival{}, err
		}
		made.Steps = append(made.Steps, factor)
	}
	if slices.Max(made.Steps) == 0 { // also steps that are rounded to 0
		return Arrival{}, errors.New("all steps are 0")
	}
	return made, nil
}

// factorOf returns a factor in thousandths.
func factorOf(value float64) (int64, error) {
	if !(value >= 0 && value <= maxFactor) {
		return 0, fmt.Errorf("factor %v is not between 0 and %v", value, maxFactor)
	}
	return toPerMille(value), nil
}

func toPerMille(value float64) int64 { return int64(math.Round(value * perMille)) }
