package telemetry

import "math/rand/v2"

const samplingStream = 0x73616d706c696e67 // "sampling", so that no other use of the seed draws the same numbers

// Sample decides for each journey of a tape whether it is traced.
//
// The decision depends on the tape's seed and the journey's number only. A journey that is traced at one ratio is traced at
// every greater one too.
func Sample(seed uint64, journeys int, ratio float64) []bool {
	random := rand.NewPCG(seed, samplingStream)
	sampled := make([]bool, journeys)
	for seq := range sampled {
		sampled[seq] = float64(random.Uint64()>>11)/(1<<53) < ratio
	}
	return sampled
}
