// Package draw draws random numbers; a seed gives the same numbers on every machine.
package draw

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"

	"hopwise/load/internal/shopdata"
)

// Generator names the algorithm of the random numbers. The name must change whenever the same seed would give another
// tape.
//
// It is math/rand/v2's ChaCha8, keyed with SHA-256 of (format, stream, seed), with one stream per purpose. All
// arithmetic is on integers, so a seed gives the same bytes on every processor and with every Go version.
const Generator = "chacha8-streams/1"

// Source draws the random numbers for one purpose.
type Source struct{ words *rand.ChaCha8 }

// NewSource returns the purpose's stream of random numbers for a seed.
func NewSource(stream string, seed uint64) Source {
	key := sha256.New()
	key.Write([]byte(Generator + "\x00" + stream + "\x00"))
	var word [8]byte
	binary.BigEndian.PutUint64(word[:], seed)
	key.Write(word[:])
	return Source{rand.NewChaCha8([32]byte(key.Sum(nil)))}
}

// Below returns a number in [0, n); the bias of multiply-and-shift is n/2^64 and not measurable here.
func (s Source) Below(n int64) int64 {
	high, _ := bits.Mul64(s.words.Uint64(), uint64(n))
	return int64(high)
}

func (s Source) Between(first, last int64) int64 { return first + s.Below(last-first+1) }

// From returns an identifier from the range; all are equally likely.
func (s Source) From(ids shopdata.Range) int64 { return s.Between(ids.First, ids.Last) }

// Exponential returns an exponentially distributed number with the given mean.
//
// Von Neumann's method (1951) compares uniform numbers only, so no logarithm can round differently elsewhere. It draws
// runs u1 > u2 > ... until a number ascends. A run of odd length gives the fractional part u1; every run of even length
// adds 1 to the integer part.
func (s Source) Exponential(mean int64) int64 {
	for whole := int64(0); ; whole++ {
		first := s.words.Uint64()
		previous, length := first, 1
		for {
			next := s.words.Uint64()
			if next >= previous {
				break
			}
			previous = next
			length++
		}
		if length%2 == 1 {
			fraction, _ := bits.Mul64(first, uint64(mean))
			return whole*mean + int64(fraction)
		}
	}
}
