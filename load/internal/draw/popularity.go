package draw

import (
	"sort"

	"hopwise/load/internal/shopdata"
)

// Popularity draws identifiers as shoppers choose products: the probability of the k-th most popular identifier is
// proportional to 1/k (Zipf, exponent 1).
//
// A multiplicative shuffle assigns the ranks, so that popular identifiers are spread over the pages of the database.
// Only reads use it: sales drawn this way would empty the stock of the most popular product in a long run.
type Popularity struct {
	ids   shopdata.Range
	upTo  []int64 // cumulative weights by rank
	total int64
}

const (
	weightOfFirst = int64(1) << 40
	shuffleFactor = 2654435761 // a prime above the size of any range here, hence coprime to it
)

func NewPopularity(ids shopdata.Range) Popularity {
	p := Popularity{ids: ids, upTo: make([]int64, ids.Size())}
	for rank := range p.upTo {
		p.total += weightOfFirst / int64(rank+1)
		p.upTo[rank] = p.total
	}
	return p
}

// Draw returns a random identifier; popular identifiers are drawn more often.
func (p Popularity) Draw(random Source) int64 {
	ticket := random.Below(p.total)
	rank := sort.Search(len(p.upTo), func(i int) bool { return p.upTo[i] > ticket })
	return p.ids.First + int64(rank)*shuffleFactor%p.ids.Size()
}
