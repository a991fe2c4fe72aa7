// Package journey holds what customers do, each journey in a file of its own: its name, who sends it, its parameters, its
// canonical answer and how that is checked. How it is sent is in the package plan.
package journey

import (
	"fmt"
	"slices"

	"hopwise/load/internal/choice"
)

// Name is one thing that a customer does: the unit of load and of comparison.
type Name string

// all holds the journeys of the shop, in the order of messages.
var all = []*definition{&browse, &product, &login, &orderHistory, &checkout, &updateProfile, &orderStatus, &bulkLines}

// definition is all that is known of a journey before it is sent.
type definition struct {
	name    Name
	senders []Channel
	needs   []string // parameters, by their names on the tape
	draw    func(dice) Params
}

// Channel is who sends a journey.
type Channel string

// The three channels.
const (
	Web     Channel = "web"
	Mobile  Channel = "mobile"
	Partner Channel = "partner"
)

// Who may send what: customers act for themselves only, partners read any order and check out for anyone.
var (
	everyone  = []Channel{Web, Mobile, Partner}
	customers = []Channel{Web, Mobile}
	partners  = []Channel{Partner}
)

var byName = func() map[Name]*definition {
	index := map[Name]*definition{}
	for _, d := range all {
		index[d.name] = d
	}
	return index
}()

// Names returns all journeys.
func Names() []Name {
	names := make([]Name, len(all))
	for i, d := range all {
		names[i] = d.name
	}
	return names
}

// Channels returns all channels.
func Channels() []Channel { return slices.Clone(everyone) }

// Known says whether the journey exists.
func (n Name) Known() bool { return byName[n] != nil }

// CheckSender returns an error that lists the valid values if there is no such journey or channel, or if the channel cannot
// send the journey.
func (n Name) CheckSender(c Channel) error {
	if err := choice.Check(n, Names(), "journey", "journeys"); err != nil {
		return err
	}
	if err := CheckChannel(c); err != nil {
		return err
	}
	if senders := byName[n].senders; !slices.Contains(senders, c) {
		return fmt.Errorf("channel %q cannot send journey %q; channels that can: %s", c, n, choice.List(senders))
	}
	return nil
}

// CheckChannel returns an error that lists the channels if it is none of them.
func CheckChannel(c Channel) error { return choice.Check(c, everyone, "channel", "channels") }
