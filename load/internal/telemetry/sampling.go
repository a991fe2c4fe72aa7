package telemetry

import (
	"hash/fnv"
	"math/rand/v2"
)

const samplingStream = 0x73616d706c696e67 // "sampling": a stream of random numbers that no other use of the seed has

// Sample decides for each journey of a trial whether it is traced.
//
// The decision depends only on the tape's seed, the trial's name and the journey's number, so all load nodes of a trial
// decide alike. Each trial draws again: if all trials traced the same journeys, the cost of tracing could not be
// separated from the journeys' own cost. A journey traced at one ratio is also traced at every greater ratio.
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
