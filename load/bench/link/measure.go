package main

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"hopwise/load/internal/link"
)

type plan struct {
	rtts       []time.Duration
	bandwidths []int64       // bits per second
	small      time.Duration // time for the small requests of a row, within the limits on their number
	bulk       time.Duration // time of a large request or answer at its bandwidth
	pairs      int           // pairs with and without a neighbour, in each round
	journeys   int           // journeys of one customer, in sequence, in each half of a pair
	download   int           // bytes of the neighbour's answer
}

var whole = plan{
	rtts:       []time.Duration{5 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond},
	bandwidths: []int64{1 * mbit, 10 * mbit, 100 * mbit},
	small:      time.Second,
	bulk:       time.Second,
	pairs:      6,
	journeys:   25,
	download:   1_000_000,
}

const (
	mbit           = 1_000_000
	fewest, most   = 5, 101 // small requests of a row in a round
	bulkRTT        = 20 * time.Millisecond
	warmUps        = 4 // the large transfer before it takes 1/warmUps of the measured transfer's time
	toleratedMs    = 0.3
	toleratedRTT   = 0.01
	toleratedSpeed = 0.03
)

type bench struct {
	plan
	clock     *link.Clock
	protocols []protocol
}

func (b *bench) measure(rounds int) (measured, error) {
	began, cpu := time.Now(), processorTime()
	all := measured{Rounds: rounds}
	for round := range rounds {
		rows, neighbours, err := b.round(round)
		if err != nil {
			return all, err
		}
		all.add(rows, neighbours)
	}
	for i := range all.Rows {
		all.Rows[i].judge()
		all.Missed += count(!all.Rows[i].OK)
	}
	for i := range all.Neighbours {
		all.Neighbours[i].judge()
		all.Missed += count(!all.Neighbours[i].OK)
	}
	all.CPUS, all.WallS = (processorTime() - cpu).Seconds(), time.Since(began).Seconds()
	return all, nil
}

func (b *bench) round(number int) (rows []row, neighbours []neighbour, err error) {
	for _, p := range b.protocols {
		for _, rtt := range b.rtts {
			took, err := b.roundTrip(p, rtt)
			if err != nil {
				return nil, nil, fmt.Errorf("%s, rtt %v: %w", p.name, rtt, err)
			}
			asked := milliseconds(rtt)
			rows = append(rows, row{
				Protocol: p.name, What: "rtt", Unit: "ms", Asked: asked, Measured: []float64{took}, Limit: max(toleratedMs, toleratedRTT*asked),
			})
		}
		for _, bandwidth := range b.bandwidths {
			for _, way := range []string{"down", "up"} {
				speed, goodput, err := b.throughput(p, bandwidth, way)
				if err != nil {
					return nil, nil, fmt.Errorf("%s, %s %d bit/s: %w", p.name, way, bandwidth, err)
				}
				asked := float64(bandwidth) / mbit
				rows = append(rows, row{
					Protocol: p.name, What: way, Unit: "Mbit/s", Asked: asked, Measured: []float64{speed}, Goodput: []float64{goodput},
					Limit: toleratedSpeed * asked,
				})
			}
		}
		for _, shared := range []bool{false, true} {
			one, err := b.withNeighbour(p, number, shared)
			if err != nil {
				return nil, nil, fmt.Errorf("%s during a download: %w", p.name, err)
			}
			neighbours = append(neighbours, one)
		}
	}
	return rows, neighbours, nil
}

func (b *bench) link(n link.Network) *link.Link { return link.New(b.clock, n, link.Warm) }

// roundTrip returns the median time of a small request on an open connection in ms, without its time on the loopback.
func (b *bench) roundTrip(p protocol, rtt time.Duration) (float64, error) {
	own, err := b.small(p, link.Network{}, rtt)
	if err != nil {
		return 0, err
	}
	took, err := b.small(p, link.Network{RTT: rtt}, rtt)
	return milliseconds(took - own), err
}

// small returns the median time of a small request. Each request follows a pause, because an idle machine answers
// later. Without an emulated network, pauses replace the time that messages spend in transit.
func (b *bench) small(p protocol, n link.Network, rtt time.Duration) (time.Duration, error) {
	pause := (rtt - n.RTT) / 2
	count := min(max(int(b.plan.small/max(rtt, time.Millisecond)), fewest), most)
	var times []time.Duration
	err := using(p, b.link(n), func(c caller) error {
		for range count {
			time.Sleep(pause)
			began := time.Now()
			if err := c.call(0, 1); err != nil {
				return err
			}
			times = append(times, time.Since(began))
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// throughput returns the Mbit/s at which the line carries a large request or answer, headers of all layers included,
// and the payload's share. An earlier transfer lets QUIC's congestion window grow.
func (b *bench) throughput(p protocol, bandwidth int64, way string) (speed, goodput float64, err error) {
	n := link.Network{RTT: bulkRTT, Down: bandwidth}
	if way == "up" {
		n = link.Network{RTT: bulkRTT, Up: bandwidth}
	}
	over := b.link(n)
	carried := func() int64 {
		if way == "up" {
			return over.Carried().Up
		}
		return over.Carried().Down
	}
	size := int(float64(bandwidth) * b.bulk.Seconds() / 8)
	transfer := func(c caller, size int) error {
		if way == "up" {
			return c.call(size, 1)
		}
		return c.call(0, size)
	}
	err = using(p, over, func(c caller) error {
		if err := transfer(c, size/warmUps); err != nil {
			return err
		}
		before, began := carried(), time.Now()
		if err := transfer(c, size); err != nil {
			return err
		}
		took, bytes := time.Since(began)-bulkRTT, float64(carried()-before)
		speed, goodput = bytes*8/took.Seconds()/mbit, float64(size)/bytes
		return nil
	})
	return speed, goodput, err
}

func using(p protocol, over *link.Link, use func(caller) error) error {
	c, err := p.open(p.address, over)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.call(0, 1); err != nil {
		return err
	}
	return use(c)
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func processorTime() time.Duration {
	var usage unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
