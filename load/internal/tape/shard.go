package tape

import (
	"encoding"
	"fmt"
	"strconv"
	"strings"

	"hopwise/load/internal/journey"
)

// Shard is a part of a tape for one of several generators: journeys whose number modulo Count is Index.
type Shard struct{ Index, Count int }

// Whole is the whole tape as a shard, for a single generator.
var Whole = Shard{Index: 0, Count: 1}

const MaxShards = 1000

var (
	_ encoding.TextMarshaler   = Shard{}
	_ encoding.TextUnmarshaler = (*Shard)(nil)
)

func (s Shard) String() string               { return fmt.Sprintf("%d/%d", s.Index, s.Count) }
func (s Shard) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s *Shard) UnmarshalText(text []byte) error {
	index, count, _ := strings.Cut(string(text), "/")
	i, badIndex := strconv.Atoi(index)
	n, badCount := strconv.Atoi(count)
	if badIndex != nil || badCount != nil || i < 0 || i >= n || n > MaxShards {
		return fmt.Errorf("not of the form I/N, with N from 1 to %d and I from 0 to N-1", MaxShards)
	}
	*s = Shard{Index: i, Count: n}
	return nil
}

// Has tells whether the journey with this number belongs to the shard.
func (s Shard) Has(seq int64) bool { return seq%int64(s.Count) == int64(s.Index) }

// Share returns the shard's share of a number. All shares add up to it, or are 1 each if there are more shards.
func (s Shard) Share(number int) int {
	share := number / s.Count
	if s.Index < number%s.Count {
		share++
	}
	return max(share, 1)
}

func (s Shard) Size(journeys int) int {
	return (journeys + s.Count - 1 - s.Index) / s.Count
}

// Shard returns the tape with only the shard's journeys; header and digest remain those of the whole tape.
func (t *Tape) Shard(s Shard) (*Tape, error) {
	if t.Header.Without != "" && s != Whole {
		return nil, fmt.Errorf("a tape without %s has one shard: its numbers have gaps", t.Header.Without)
	}
	size := s.Size(len(t.Entries))
	if size == 0 {
		return nil, fmt.Errorf("shard %s of a tape of %d journeys is empty; give at most %d shards", s, len(t.Entries), len(t.Entries))
	}
	own := &Tape{Header: t.Header, SHA256: t.SHA256, Entries: make([]journey.Entry, 0, size)}
	for _, entry := range t.Entries {
		if s.Has(entry.Seq) {
			own.Entries = append(own.Entries, entry)
		}
	}
	return own, nil
}
