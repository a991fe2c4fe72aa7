package draw

import (
	"testing"

	"hopwise/load/internal/shopdata"
)

// Exponential gaps have the requested mean, and a share of e^-1 of the gaps is longer than the mean.
func TestExponential(t *testing.T) {
	const draws, mean = 200_000, 1_000_000
	random := NewSource("test", 3)
	sum, longer := 0.0, 0
	for range draws {
		gap := random.Exponential(mean)
		sum += float64(gap)
		if gap > mean {
			longer++
		}
	}
	if got := sum / draws / mean; got < 0.99 || got > 1.01 {
		t.Errorf("the mean is %.4f of the one asked for", got)
	}
	if got := float64(longer) / draws; got < 0.363 || got > 0.373 {
		t.Errorf("%.4f of the gaps are longer than the mean, 0.3679 expected", got)
	}
}

// Popular products come more often, in proportion to 1/rank, and every id has exactly one rank.
func TestPopularity(t *testing.T) {
	p := NewPopularity(shopdata.Range{First: 1, Last: 100})
	random := NewSource("test", 1)
	counts := map[int64]int{}
	const draws = 100_000
	for range draws {
		counts[p.Draw(random)]++
	}
	if len(counts) != 100 {
		t.Errorf("%d of 100 ids were drawn", len(counts))
	}
	most := 0
	for id, count := range counts {
		if id < 1 || id > 100 {
			t.Errorf("id %d is out of range", id)
		}
		most = max(most, count)
	}
	// The first rank's share is 1 over the 100th harmonic number, 0.1928.
	if share := float64(most) / draws; share < 0.185 || share > 0.2 {
		t.Errorf("the most popular id has a share of %.4f", share)
	}
}
