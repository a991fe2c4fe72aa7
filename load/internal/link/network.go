// Package link emulates the network between a customer and the edge, at the client's end of each connection.
//
// A link has two directions. Data waits until the line is free, is serialised bit by bit at the direction's bandwidth,
// and comes out half a round trip later. On the way up, it is only then written to the real socket; on the way down, it
// is only then readable. There is no loss, no reordering and no randomness.
package link

import (
	"fmt"
	"time"

	"hopwise/load/internal/choice"
)

type Network struct {
	RTT  time.Duration // round-trip time without serialisation
	Down int64         // bits per second towards the customer, headers included; 0 for no limit
	Up   int64         // bits per second towards the edge, headers included; 0 for no limit
}

// Visit tells whether a customer has visited the shop before.
type Visit string

const (
	Warm  Visit = "warm"  // connections are open already, and their windows have grown
	First Visit = "first" // connections are opened by the journey, with TCP's initial window
)

func Visits() []Visit        { return []Visit{Warm, First} }
func (v Visit) Check() error { return choice.Check(v, Visits(), "visit", "visits") }

const (
	MaxRTT       = 2 * time.Second
	MinBandwidth = 10_000         // bits per second
	MaxBandwidth = 10_000_000_000 // bits per second
)

// Check returns an error that names an invalid value and the valid range.
func (n Network) Check() error {
	if n.RTT < 0 || n.RTT > MaxRTT {
		return fmt.Errorf("a round-trip time of %v is not between 0s and %v", n.RTT, MaxRTT)
	}
	for _, rate := range []int64{n.Down, n.Up} {
		if rate != 0 && (rate < MinBandwidth || rate > MaxBandwidth) {
			return fmt.Errorf("a bandwidth of %d bit/s is neither 0 (no limit) nor between %d and %d", rate, MinBandwidth, MaxBandwidth)
		}
	}
	return nil
}
