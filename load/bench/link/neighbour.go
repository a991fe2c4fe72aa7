package main

import (
	"math/rand/v2"
	"time"

	"hopwise/load/internal/link"
)

const (
	journey   = 1_000                 // bytes of a journey's answer
	underWay  = 50 * time.Millisecond // head start of the download
	orderSeed = 1
)

var neighbourNetwork = link.Network{RTT: 20 * time.Millisecond, Down: 10 * mbit, Up: 10 * mbit}

// withNeighbour measures pairs of a customer's journeys with and without a neighbour's download, in random order.
//
// Each customer has a separate link, unless shared is set. A shared link must show an effect, as proof that this works.
func (b *bench) withNeighbour(p protocol, round int, shared bool) (neighbour, error) {
	one := neighbour{Protocol: p.name, Shared: shared}
	pairs := b.pairs
	if shared {
		pairs = 1
	}
	order := rand.New(rand.NewPCG(orderSeed, uint64(round)))
	mine := b.link(neighbourNetwork)
	theirs := mine
	if !shared {
		theirs = b.link(neighbourNetwork)
	}
	err := using(p, mine, func(customer caller) error {
		return using(p, theirs, func(other caller) error {
			for range pairs {
				var meanMs [2]float64 // without and with the download
				first := order.IntN(2)
				for _, half := range []int{first, 1 - first} {
					var err error
					if meanMs[half], err = b.half(customer, other, half == 1); err != nil {
						return err
					}
				}
				one.AloneMs = append(one.AloneMs, meanMs[0])
				one.EffectMs = append(one.EffectMs, meanMs[1]-meanMs[0])
			}
			return nil
		})
	})
	return one, err
}

// half returns the mean time of the customer's journeys in ms, while the other customer downloads or is idle.
func (b *bench) half(customer, other caller, downloads bool) (float64, error) {
	downloaded := make(chan error, 1)
	go func() {
		if downloads {
			downloaded <- other.call(0, b.download)
		} else {
			downloaded <- nil
		}
	}()
	time.Sleep(underWay)
	began := time.Now()
	for range b.journeys {
		if err := customer.call(0, journey); err != nil {
			return 0, err
		}
	}
	took := time.Since(began)
	return milliseconds(took) / float64(b.journeys), <-downloaded
}
