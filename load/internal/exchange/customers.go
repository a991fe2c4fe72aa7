package exchange

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"hopwise/load/internal/link"
	"hopwise/load/internal/target"
	"hopwise/load/internal/wire"
)

// browserConnections is how many HTTP/1.1 connections browsers open to an origin.
const browserConnections = 6

// Customers are clients for one journey at a time: each customer has separate connections, which share a separate link.
//
// On a warm visit the connections are open before the journey begins; a journey that finds no idle customer opens
// connections itself and counts as late. On a first visit every journey opens its own connections.
type Customers struct {
	target target.Target
	pools  map[target.Channel]*pool // channels with the same network share one
	visit  link.Visit
	meter  *wire.Meter
	clock  *link.Clock

	mu     sync.Mutex // guards the pools' idle customers too
	opened int
	late   int
}

type pool struct {
	network link.Network
	ready   int // customers to open before the load
	idle    []*Client
}

// NewCustomers returns the customers of the target's networks; nil if no network is emulated. The meter counts the
// customers' traffic too. ready returns how many customers at a time the channels need.
func NewCustomers(t target.Target, ready func(of []target.Channel) int, meter *wire.Meter) (*Customers, error) {
	networks, err := t.Emulated()
	if err != nil || len(networks) == 0 {
		return nil, err
	}
	clock, err := link.NewClock()
	if err != nil {
		return nil, err
	}
	s := &Customers{target: t, pools: map[target.Channel]*pool{}, visit: cmp.Or(t.Visit, link.Warm), meter: meter, clock: clock}
	behind := map[link.Network][]target.Channel{}
	for channel, network := range networks {
		behind[network] = append(behind[network], channel)
	}
	for network, channels := range behind {
		p := &pool{network: network, ready: min(ready(channels), target.MaxConnections/s.connections().http)}
		for _, channel := range channels {
			s.pools[channel] = p
		}
	}
	return s, nil
}

func (s *Customers) connections() counts {
	if s.target.HTTP == 1 {
		return counts{http: browserConnections, grpc: 1}
	}
	return counts{http: 1, grpc: 1}
}

// Connect opens the connections of warm customers, in parallel.
func (s *Customers) Connect(ctx context.Context) error {
	if s == nil || s.visit == link.First {
		return nil
	}
	var customers errgroup.Group
	for _, p := range s.distinct() {
		for range p.ready {
			customers.Go(func() error {
				c, err := s.open(p)
				if err != nil {
					return err
				}
				err = c.Connect(ctx)
				s.giveBack(p, c, err == nil)
				return err
			})
		}
	}
	if err := customers.Wait(); err != nil {
		return fmt.Errorf("a customer's connections: %w", err)
	}
	return nil
}

// distinct returns each pool once.
func (s *Customers) distinct() []*pool {
	pools := map[*pool]bool{}
	for _, p := range s.pools {
		pools[p] = true
	}
	return slices.Collect(maps.Keys(pools))
}

func (s *Customers) open(p *pool) (*Client, error) {
	s.mu.Lock()
	s.opened++
	s.mu.Unlock()
	return newClient(s.target, s.connections(), s.meter, &through{link: link.New(s.clock, p.network, s.visit)})
}

// Borrow returns a customer of the channel for exclusive use, and whether its connections had to be opened first. The
// longest idle customer comes first, so that no customer is idle until the edge closes its connections.
func (s *Customers) Borrow(ctx context.Context, channel target.Channel) (c *Client, late bool, err error) {
	p := s.pools[channel]
	s.mu.Lock()
	if len(p.idle) > 0 {
		defer s.mu.Unlock()
		c := p.idle[0]
		p.idle = p.idle[1:]
		return c, false, nil
	}
	if late = s.visit == link.Warm; late {
		s.late++
	}
	s.mu.Unlock()
	if c, err = s.open(p); err != nil || !late {
		return c, late, err
	}
	if err := c.Connect(ctx); err != nil {
		c.Close()
		return nil, late, err
	}
	return c, late, nil
}

// Return takes a customer back, who is not reused after a first visit or a failed journey with traffic in flight.
func (s *Customers) Return(c *Client, channel target.Channel, reusable bool) {
	s.giveBack(s.pools[channel], c, reusable)
}

func (s *Customers) giveBack(p *pool, c *Client, reusable bool) {
	if !reusable || s.visit == link.First {
		c.Close()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.idle = append(p.idle, c)
}

func (s *Customers) Networks() map[target.Channel]link.Network {
	networks := map[target.Channel]link.Network{}
	for channel, p := range s.pools {
		networks[channel] = p.network
	}
	return networks
}

// Opened returns the number of customers, and how many were opened late on a warm visit.
func (s *Customers) Opened() (all, late int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened, s.late
}

// Close closes the connections of all customers; no journey may be under way.
func (s *Customers) Close() {
	if s == nil {
		return
	}
	for _, p := range s.distinct() {
		s.mu.Lock()
		idle := p.idle
		p.idle = nil
		s.mu.Unlock()
		for _, c := range idle {
			c.Close()
		}
	}
	s.clock.Close()
}
