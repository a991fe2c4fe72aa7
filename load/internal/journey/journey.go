// Package journey names what customers do, who sends it, and with which parameters.
package journey

import (
	"fmt"
	"slices"
	"strings"
)

// Name is one thing that a customer does: the unit of load and of comparison.
type Name string

// The eight journeys of the shop.
const (
	Browse        Name = "browse"
	Product       Name = "product"
	Login         Name = "login"
	OrderHistory  Name = "order_history"
	Checkout      Name = "checkout"
	UpdateProfile Name = "update_profile"
	OrderStatus   Name = "order_status"
	BulkLines     Name = "bulk_lines"
)

// Channel is who sends a journey.
type Channel string

// The three channels.
const (
	Web     Channel = "web"
	Mobile  Channel = "mobile"
	Partner Channel = "partner"
)

var allNames = []Name{Browse, Product, Login, OrderHistory, Checkout, UpdateProfile, OrderStatus, BulkLines}

var allChannels = []Channel{Web, Mobile, Partner}

// senders holds who may send what: customers act for themselves only, partners read any order and check out for anyone.
var senders = map[Name][]Channel{
	Browse:        {Web, Mobile, Partner},
	Product:       {Web, Mobile, Partner},
	Login:         {Web, Mobile},
	OrderHistory:  {Web, Mobile},
	Checkout:      {Web, Mobile, Partner},
	UpdateProfile: {Web, Mobile},
	OrderStatus:   {Partner},
	BulkLines:     {Partner},
}

// Names returns all journeys, in the order of the documentation.
func Names() []Name { return slices.Clone(allNames) }

// Channels returns all channels.
func Channels() []Channel { return slices.Clone(allChannels) }

// Known says whether the journey exists.
func (n Name) Known() bool { return slices.Contains(allNames, n) }

// Known says whether the channel exists.
func (c Channel) Known() bool { return slices.Contains(allChannels, c) }

// Senders returns the channels that may send the journey.
func (n Name) Senders() []Channel { return slices.Clone(senders[n]) }

// CheckSender returns an error that lists the valid channels if the channel cannot send the journey.
func (n Name) CheckSender(c Channel) error {
	if !n.Known() {
		return fmt.Errorf("unknown journey %q; journeys: %s", n, List(allNames))
	}
	if !c.Known() {
		return fmt.Errorf("unknown channel %q; channels: %s", c, List(allChannels))
	}
	if !slices.Contains(senders[n], c) {
		return fmt.Errorf("channel %q cannot send journey %q; channels that can: %s", c, n, List(senders[n]))
	}
	return nil
}

// List joins names for a message.
func List[T ~string](items []T) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = string(item)
	}
	return strings.Join(texts, ", ")
}
