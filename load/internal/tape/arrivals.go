package tape

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"hopwise/load/internal/draw"
	"hopwise/load/internal/target"
	"hopwise/load/internal/workload"
)

// arrivals returns the sorted arrival times in [0, duration) in nanoseconds.
func arrivals(a workload.Arrival, rate float64, duration time.Duration, random draw.Source) []int64 {
	span := duration.Nanoseconds()
	if a.Process == workload.Constant {
		var times []int64
		for i := int64(0); ; i++ {
			// One rounded division and one rounded product for each time, so that errors do not accumulate.
			at := int64(math.Round(float64(i) * (1e9 / rate)))
			if at >= span {
				return times
			}
			times = append(times, at)
		}
	}
	// Arrivals with a varying rate are made from a faster steady process by thinning (Lewis and Shedler, 1979).
	peak := peakFactor(a)
	mean := max(int64(math.Round(1e9/rate*perMille/float64(peak))), 1)
	var times []int64
	for at := random.Exponential(mean); at < span; at += random.Exponential(mean) {
		if factor := factorAt(a, at, span); factor == peak || random.Below(peak) < factor {
			times = append(times, at)
		}
	}
	return times
}

// exactly returns rate × duration sorted random times in [0, duration): a Poisson process, conditional on its number.
func exactly(rate float64, duration time.Duration, random draw.Source) []int64 {
	times := make([]int64, int64(math.Round(rate*duration.Seconds())))
	for i := range times {
		times[i] = random.Below(duration.Nanoseconds())
	}
	slices.Sort(times)
	return times
}

const perMille = 1000

func peakFactor(a workload.Arrival) int64 {
	switch a.Process {
	case workload.Staircase:
		return slices.Max(a.Steps)
	case workload.Ramp:
		return max(a.From, a.To)
	default:
		return perMille
	}
}

// factorAt returns the factor by which the rate is multiplied at a time, in thousandths.
func factorAt(a workload.Arrival, at, span int64) int64 {
	switch a.Process {
	case workload.Staircase:
		return a.Steps[mulDiv(at, int64(len(a.Steps)), span)]
	case workload.Ramp:
		if a.To >= a.From {
			return a.From + mulDiv(a.To-a.From, at, span)
		}
		return a.From - mulDiv(a.From-a.To, at, span)
	default:
		return perMille
	}
}

// mulDiv returns a*b/c for non-negative numbers, without intermediate overflow.
func mulDiv(a, b, c int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	quotient, _ := bits.Div64(high, low, uint64(c))
	return int64(quotient)
}

// Numbers returns the count of journey numbers, including those of left-out journeys.
func (t *Tape) Numbers() int { return int(t.Entries[len(t.Entries)-1].Seq) + 1 }

// MaxWithin returns the maximum number of the channels' journeys that arrive within any period of this length.
func (t *Tape) MaxWithin(d time.Duration, of []target.Channel) int {
	most := 0
	var arrived []int64
	for _, entry := range t.Entries {
		if !slices.Contains(of, entry.Channel) {
			continue
		}
		arrived = append(arrived, entry.AtNs)
		for entry.AtNs-arrived[0] > d.Nanoseconds() {
			arrived = arrived[1:]
		}
		most = max(most, len(arrived))
	}
	return most
}
