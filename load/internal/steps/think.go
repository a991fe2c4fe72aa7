package steps

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strconv"
	"time"
)

// pause returns how long a customer thinks before the step; it derives from the journey's key, and so from the seed.
func (s *Step) pause(values Values) time.Duration {
	if len(s.Think) == 0 {
		return 0
	}
	sum := sha256.Sum256(append(strconv.AppendInt(nil, int64(s.number), 10), values[Key]...))
	share := float64(binary.BigEndian.Uint64(sum[:])) / math.MaxUint64
	return time.Duration((s.Think[0] + share*(s.Think[1]-s.Think[0])) * float64(time.Millisecond))
}

// Pauses returns the total time that a customer thinks during a journey.
func (p *Plan) Pauses(name string, values Values) (sum time.Duration) {
	for _, step := range p.byName[name].Steps {
		sum += step.pause(values)
	}
	return sum
}

// MaxPauses returns the maximum time that a customer thinks during any journey.
func (p *Plan) MaxPauses() (longest time.Duration) {
	for _, journey := range p.Journeys {
		sum := 0.0
		for _, step := range journey.Steps {
			if len(step.Think) > 0 {
				sum += step.Think[1]
			}
		}
		longest = max(longest, time.Duration(sum*float64(time.Millisecond)))
	}
	return longest
}
