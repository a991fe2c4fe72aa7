// Package link emulates the network between a customer and the edge, at the client's end of each connection.
//
// A link has two directions. What is handed in waits until the line is free, is serialised bit by bit at the direction's
// bandwidth, and comes out half a round trip later: going up, it is only then written to the real socket; coming down, it
// is only then readable. Nothing is lost, nothing overtakes, and nothing is random.
package link

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hopwise/load/internal/choice"
)

// Network is what lies between a customer and the edge.
type Network struct {
	RTT  time.Duration // round-trip time without serialisation
	Down int64         // bits per second towards the customer, headers included; 0 for no limit
	Up   int64         // bits per second towards the edge, headers included; 0 for no limit
}

// Visit is whether a customer was here before.
type Visit string

// The visits.
const (
	Warm  Visit = "warm"  // connections are open from before, and their windows have grown
	First Visit = "first" // connections are opened by the journey, with TCP's initial window
)

// Visits returns all visits.
func Visits() []Visit { return []Visit{Warm, First} }

// Check returns an error that lists the visits if it is none of them.
func (v Visit) Check() error { return choice.Check(v, Visits(), "visit", "visits") }

// What can be emulated and somebody may mean.
const (
	MaxRTT       = 2 * time.Second
	MinBandwidth = 10_000         // bits per second
	MaxBandwidth = 10_000_000_000 // bits per second
)

// Name is that of a network whose figures are published.
type Name string

// Loopback is the name of the network that takes nothing.
const Loopback = "loopback"

const mbit = 1_000_000

// Named is such a network, and where its figures come from.
type Named struct {
	Name Name
	Network
	Source string
}

var named = []Named{
	{Loopback, Network{}, "this machine itself; nothing is emulated"},
	{"lan", Network{RTT: 500 * time.Microsecond, Down: 1000 * mbit, Up: 1000 * mbit},
		"bandwidth of 1000BASE-T (IEEE 802.3ab, 1999); round trip within a data centre from J. Dean's talk at Stanford, as in Numbers everyone should know, defcraft.blogspot.com, 6 July 2009"},
	{"wifi", Network{RTT: 2 * time.Millisecond, Down: 30 * mbit, Up: 15 * mbit},
		"Wi-Fi of the throttling profiles of Firefox's network monitor: github.com/mozilla-firefox/firefox, devtools/docs/user/network_monitor/throttling/index.rst"},
	{"5g", Network{RTT: 47 * time.Millisecond, Down: 265_800_000, Up: 14_560_000},
		"medians of T-Mobile US over 5G, January to June 2024, measured by Ookla, as reported by RCR Wireless News and Broadband Breakfast on 17 July 2024"},
	{"4g", Network{RTT: 70 * time.Millisecond, Down: 12 * mbit, Up: 12 * mbit},
		"LTE of WebPageTest's connectivity profiles: github.com/WPO-Foundation/webpagetest, www/settings/connectivity.ini.sample at a7cf6a7"},
	{"3g", Network{RTT: 150 * time.Millisecond, Down: 1_600_000, Up: 768_000},
		"3GFast of WebPageTest's connectivity profiles: github.com/WPO-Foundation/webpagetest, www/settings/connectivity.ini.sample at a7cf6a7"},
}

// AllNamed returns the networks that have a name.
func AllNamed() []Named { return slices.Clone(named) }

// Names lists the names for a message.
func Names() string { return choice.List(names()) }

func names() []Name {
	names := make([]Name, len(named))
	for i, n := range named {
		names[i] = n.Name
	}
	return names
}

// ParseName returns the network of a name.
func ParseName(text string) (Network, error) {
	for _, n := range named {
		if string(n.Name) == text {
			return n.Network, nil
		}
	}
	return Network{}, choice.Check(Name(text), names(), "network", "networks")
}

var duration = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(us|ms|s)$`)

// ParseRTT reads a round-trip time, such as 40ms.
func ParseRTT(text string) (time.Duration, error) {
	rtt, err := time.ParseDuration(text)
	if err != nil || !duration.MatchString(text) || rtt > MaxRTT {
		return 0, fmt.Errorf("rtt %q is not a round-trip time from 0ms to %v, such as 40ms or 0.5ms", text, MaxRTT)
	}
	return rtt, nil
}

// Parse reads what a user says of the network: a name, and figures that take the place of the named network's; each may be empty.
func Parse(name, rtt, bandwidth string) (n Network, err error) {
	if name != "" {
		if n, err = ParseName(name); err != nil {
			return n, err
		}
	}
	if rtt != "" {
		if n.RTT, err = ParseRTT(rtt); err != nil {
			return n, err
		}
	}
	if bandwidth != "" {
		n.Down, n.Up, err = ParseBandwidth(bandwidth)
	}
	return n, err
}

var rate = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(kbit|mbit|gbit)$`)

// ParseBandwidth reads bandwidths in bits per second, such as 10mbit/2mbit (down/up) or 10mbit (both).
func ParseBandwidth(text string) (down, up int64, err error) {
	first, second, both := strings.Cut(text, "/")
	if !both {
		second = first
	}
	down, downOK := parseRate(first)
	up, upOK := parseRate(second)
	if !downOK || !upOK {
		return 0, 0, fmt.Errorf("bandwidth %q is not of the form DOWN/UP, such as 10mbit/2mbit, each from 10kbit to 10gbit (units: kbit, mbit, gbit per second)", text)
	}
	return down, up, nil
}

func parseRate(text string) (int64, bool) {
	parts := rate.FindStringSubmatch(text)
	if parts == nil {
		return 0, false
	}
	number, err := strconv.ParseFloat(parts[1], 64)
	unit := map[string]float64{"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}[parts[2]]
	bits := math.Round(number * unit)
	return int64(bits), err == nil && bits >= MinBandwidth && bits <= MaxBandwidth
}
