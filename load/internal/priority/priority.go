// Package priority lets the generator run as soon as it is due, although it shares its machine with what it measures.
//
// On a busy machine an ordinary process that wakes up may wait for milliseconds until it gets a processor. The time between
// an arrival and its start, and between an answer and its reading, would then be the scheduler's, not the shop's.
package priority

import (
	"fmt"

	"hopwise/load/internal/choice"
)

// Wish is what the user asks for.
type Wish string

// The wishes.
const (
	Auto     Wish = "auto"     // real-time where the system allows it
	Normal   Wish = "normal"   // like any other process
	Realtime Wish = "realtime" // real-time, or an error
)

var wishes = []Wish{Auto, Normal, Realtime}

// Apply sets the priority of this process and returns the one that it has now: normal or realtime.
func Apply(w Wish) (Wish, error) {
	switch w {
	case Normal:
		return Normal, nil
	case Auto:
		if raise() != nil {
			return Normal, nil
		}
		return Realtime, nil
	case Realtime:
		if err := raise(); err != nil {
			return Normal, fmt.Errorf("priority realtime is not allowed here (%w); priorities: %s", err, choice.List(wishes))
		}
		return Realtime, nil
	}
	return "", choice.Check(w, wishes, "priority", "priorities")
}
