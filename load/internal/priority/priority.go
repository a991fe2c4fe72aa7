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
	Auto     Wish = "auto"     // real-time where the system allows it, else prompt where it can, else normal
	Normal   Wish = "normal"   // like any other process
	Prompt   Wish = "prompt"   // like any other process, but earlier and for shorter: with a short time slice, or an error
	Realtime Wish = "realtime" // real-time, or an error
)

var wishes = []Wish{Auto, Normal, Prompt, Realtime}

// Apply sets the priority of this process and returns the one that it has now: normal, prompt or realtime.
func Apply(w Wish) (Wish, error) {
	switch w {
	case Normal:
		return Normal, nil
	case Auto:
		for _, better := range []Wish{Realtime, Prompt} {
			if set(better) == nil {
				return better, nil
			}
		}
		return Normal, nil
	case Prompt, Realtime:
		if err := set(w); err != nil {
			return Normal, fmt.Errorf("priority %s is not possible here (%w); priorities: %s", w, err, choice.List(wishes))
		}
		return w, nil
	}
	return "", choice.Check(w, wishes, "priority", "priorities")
}
