// Package tape makes, writes and reads the fixed list of journeys that every topology replays.
package tape

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hopwise/load/internal/choice"
	"hopwise/load/internal/draw"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/shopdata"
	"hopwise/load/internal/steps"
	"hopwise/load/internal/workload"
)

const (
	maxJourneys = 5_000_000
	// minRate gives less than a journey in 24 h, the longest duration. Gaps between arrivals at far lower rates overflow.
	minRate = 0.00001
)

// Tape is a fixed list of journeys, in order of arrival.
type Tape struct {
	Header  Header
	Entries []journey.Entry
	SHA256  string // SHA-256 of the file, hexadecimal; set once it is written or read
}

// Spec has all inputs of a tape.
type Spec struct {
	Workload workload.Workload
	Seed     uint64
	Rate     float64 // journeys per second
	Duration time.Duration
	Scale    shopdata.Scale
	Pool     shopdata.Pool    // empty for the workload's pool
	Payload  shopdata.Payload // size of the documents, for workloads with the journey document; empty for the default
	Steps    *steps.Plan      // steps of a target other than the shop; nil for the shop
	Without  journey.Name     // kind of journey that is left out after all journeys are drawn; empty for none
}

func (s Spec) check() error {
	switch {
	case !(s.Rate >= minRate && s.Rate <= 1e6):
		return fmt.Errorf("rate %v is not between 0.00001 and 1000000 journeys a second", s.Rate)
	case s.Duration <= 0 || s.Duration > 24*time.Hour:
		return fmt.Errorf("duration %v is not above 0 and at most 24h", s.Duration)
	case s.Scale < 1 || s.Scale > shopdata.MaxScale:
		return fmt.Errorf("scale %d is not between 1 and %d", s.Scale, shopdata.MaxScale)
	}
	if s.Without != "" {
		if err := choice.Check(s.Without, s.Workload.Journeys(), "journey", "journeys of the workload"); err != nil {
			return err
		}
	}
	if s.Payload != "" {
		if err := choice.Check(s.Payload, shopdata.Payloads(), "payload", "payloads"); err != nil {
			return err
		}
		if !s.readsDocuments() {
			return fmt.Errorf("payload=%s is for workloads with the journey document, which %s does not have; give workload=document", s.Payload, s.Workload.Name)
		}
	}
	peak := s.Rate * s.Duration.Seconds() * float64(peakFactor(s.Workload.Arrival)) / perMille
	if peak > maxJourneys {
		return s.tooMany()
	}
	return choice.Check(s.pool(), shopdata.Pools(), "pool", "pools")
}

func (s Spec) tooMany() error {
	return fmt.Errorf("rate %v over %v makes more than %d journeys", s.Rate, s.Duration, maxJourneys)
}

func (s Spec) pool() shopdata.Pool  { return cmp.Or(s.Pool, s.Workload.Pool) }
func (s Spec) readsDocuments() bool { return slices.Contains(s.Workload.Journeys(), journey.Document) }

// Build makes a tape from a specification; the same specification gives the same tape on every machine.
func Build(s Spec) (*Tape, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	h := Header{
		Format:     Format,
		Generator:  draw.Generator,
		Workload:   s.Workload.Name,
		Arrival:    s.Workload.Arrival.Process,
		Seed:       s.Seed,
		Rate:       s.Rate,
		DurationNs: s.Duration.Nanoseconds(),
		Scale:      s.Scale,
		Pool:       s.pool(),
		Without:    s.Without,
	}
	if s.Workload.Order != workload.Random {
		h.Order = s.Workload.Order
	}
	if s.readsDocuments() {
		h.Payload = cmp.Or(s.Payload, shopdata.DefaultPayload)
	}
	random := draw.NewSource("arrivals", s.Seed)
	var times []int64
	if s.Steps != nil && s.Workload.Arrival.Process == workload.Poisson {
		times = exactly(s.Rate, s.Duration, random)
	} else {
		times = arrivals(s.Workload.Arrival, s.Rate, s.Duration, random)
	}
	if len(times) > maxJourneys { // their expected number may be just below the limit
		return nil, s.tooMany()
	}
	if len(times) == 0 {
		return nil, fmt.Errorf("rate %v over %v gives no journey at seed %d; raise one of them", s.Rate, s.Duration, s.Seed)
	}
	choose := chooser(s.Workload, s.Seed)
	drawn := journey.NewDrawer(s.Seed, s.Scale, s.pool(), h.Payload, h.identity()).Draw
	var rows *rows
	if s.Steps != nil {
		h.Steps = s.Steps.SHA256
		rows = newRows(s.Steps, s.Seed, h.identity()+"/"+h.Steps)
		drawn = rows.draw
	}
	t := &Tape{Header: h, Entries: make([]journey.Entry, 0, len(times))}
	for i, at := range times {
		share := choose()
		entry := journey.Entry{
			Seq:     int64(i),
			AtNs:    at,
			Journey: share.Journey,
			Channel: share.Channel,
			Params:  drawn(share.Journey, int64(i)),
		}
		if entry.Journey != s.Without {
			t.Entries = append(t.Entries, entry)
		}
	}
	if err := rows.check(); err != nil {
		return nil, err
	}
	if len(t.Entries) == 0 {
		return nil, fmt.Errorf("nothing is left of the tape without %s", s.Without)
	}
	t.Header.Journeys = len(t.Entries)
	return t, nil
}

// chooser returns a function that chooses the entry of the mix for the next journey.
func chooser(w workload.Workload, seed uint64) func() workload.Share {
	if w.Order == workload.Cycle {
		return inTurn(w.Mix)
	}
	return byWeight(w.Mix, draw.NewSource("mix", seed))
}

// inTurn cycles through the mix, and spreads entries with greater weights over the cycle (smooth weighted round robin).
func inTurn(mix []workload.Share) func() workload.Share {
	total := int64(0)
	for _, share := range mix {
		total += share.Times()
	}
	credit := make([]int64, len(mix))
	return func() workload.Share {
		next := 0
		for i, share := range mix {
			credit[i] += share.Times()
			if credit[i] > credit[next] {
				next = i
			}
		}
		credit[next] -= total
		return mix[next]
	}
}

func byWeight(mix []workload.Share, random draw.Source) func() workload.Share {
	total := int64(0)
	for _, share := range mix {
		total += share.Weight
	}
	return func() workload.Share {
		ticket := random.Below(total)
		for _, share := range mix {
			if ticket < share.Weight {
				return share
			}
			ticket -= share.Weight
		}
		panic("weights do not add up") // impossible: the ticket is below their sum
	}
}
