// Package priority lets the generator run as soon as it has work, although it shares its machine with the measured
// system.
//
// On a busy machine an ordinary process may wait for milliseconds after its wake-up until it gets a processor. The
// times from an arrival to the journey's start, and from an answer until it is read, would then include this delay.
package priority

import (
	"fmt"

	"hopwise/load/internal/choice"
)

type Wish string

const (
	Auto     Wish = "auto"     // real-time if the system allows it, otherwise prompt if possible, otherwise normal
	Normal   Wish = "normal"   // like any other process
	Prompt   Wish = "prompt"   // ordinary, but with a short time slice: it runs sooner and for less time; or an error
	Realtime Wish = "realtime" // real-time, or an error
)

var wishes = []Wish{Auto, Normal, Prompt, Realtime}

// Apply sets the priority of this process and returns its new priority: normal, prompt or realtime.
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
