package telemetry

import (
	"hash/fnv"
	"math/rand/v2"
)

const samplingStream = 0x73616d706c696e67 // "sampling", so that no other use of the seed draws the same numbers

// Sample decides for each journey of a trial whether it is traced.
//
// The decision depends on the tape's seed, the trial's name and the journey's number only: the load nodes of a trial decide alike, and
// each trial draws anew, as trials that all traced the same journeys could not tell what tracing adds from what those journeys are. A
// journey that is traced at one ratio is traced at every greater one too.
func Sample(seed uint64, trial string, journeys int, ratio float64) []bool {
	name := fnv.New64a()
	name.Write([]byte(trial))
	random := rand.NewPCG(seed, samplingStream^name.Sum64())
	sampled := make([]bool, journeys)
	for seq := range sampled {
		sampled[seq] = float64(random.Uint64()>>11)/(1<<53) < ratio
	}
	return sampled
}
