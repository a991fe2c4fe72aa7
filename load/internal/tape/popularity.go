package tape

import (
	"sort"

	"hopwise/load/internal/shopdata"
)

// popularity draws identifiers as shoppers do: the k-th most popular one comes in proportion to 1/k (Zipf, exponent 1).
//
// Which identifier has which rank is fixed by a multiplicative shuffle, so that popular ones are spread over pages of the
// database. Only reads use it: sales drawn this way would empty the stock of the most popular product in a long run.
type popularity struct {
	ids   shopdata.Range
	upTo  []int64 // cumulative weights by rank
	total int64
}

const (
	weightOfFirst = int64(1) << 40
	shuffleFactor = 2654435761 // a prime above any size here, hence coprime to it
)

func newPopularity(ids shopdata.Range) popularity {
	p := popularity{ids: ids, upTo: make([]int64, ids.Size())}
	for rank := range p.upTo {
		p.total += weightOfFirst / int64(rank+1)
		p.upTo[rank] = p.total
	}
	return p
}

func (p popularity) draw(random source) int64 {
	ticket := random.below(p.total)
	rank := sort.Search(len(p.upTo), func(i int) bool { return p.upTo[i] > ticket })
	return p.ids.First + int64(rank)*shuffleFactor%p.ids.Size()
}
