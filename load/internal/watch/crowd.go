package watch

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"hopwise/load/internal/atomicfile"
	"hopwise/load/internal/exchange"
	"hopwise/load/internal/record"
	"hopwise/load/internal/target"
	"hopwise/load/internal/telemetry"
)

const (
	openLimit     = 30 * time.Second // time limit for opening all watchers
	openingAtOnce = 200
	// Watchers get few and small messages, and thousands of them may have separate connections.
	bufferBytes = 1 << 10
)

type Options struct {
	Customers   []Customer
	Channel     target.Channel // channel of the watchers
	Way         Way
	Interval    time.Duration // between a watcher's polls
	Connections int           // number of shared connections; 0 if each watcher has a separate connection
	Duration    time.Duration // time to watch, once all watchers are open
	Out         string        // folder to write to
	Tracing     *telemetry.Tracing
}

type Crowd struct {
	options     Options
	client      *exchange.Client
	connections []connection
	watchers    []*watcher
	journal     *journal

	mu      sync.Mutex
	figures Figures
}

type connection interface {
	line(of Customer) line
	close()
}

// NewCrowd returns customers whose connections are not open yet.
func NewCrowd(t target.Target, o Options) (*Crowd, error) {
	entry, err := EntryOf(t, o.Channel)
	if err != nil {
		return nil, err
	}
	count := len(o.Customers)
	if o.Connections < 0 || o.Connections > count {
		return nil, fmt.Errorf("--connections %d is not between 0 (each watcher has its own) and %d, the number of watchers", o.Connections, count)
	}
	if o.Connections == 0 {
		o.Connections = count
	}
	if o.Connections < count && o.Way == Push && entry.Protocol != target.GRPC && t.HTTP == 1 {
		return nil, fmt.Errorf("--connections %d is fewer than the %d watchers: over HTTP/1.1 a stream has a connection to itself", o.Connections, count)
	}
	t.Entry = map[target.Channel]target.Entry{target.Web: entry}
	c := &Crowd{options: o, figures: Figures{
		Watchers: count, Way: o.Way, Protocol: entry.Protocol, Connections: o.Connections,
		FailedPolls: map[string]int{}, Reconnects: map[string]int{},
	}}
	for _, customer := range o.Customers {
		c.figures.Users = append(c.figures.Users, customer.UserID)
	}
	if o.Way == Poll {
		c.figures.IntervalS = o.Interval.Seconds()
	}
	if c.client, err = exchange.NewClient(t, 0); err != nil {
		return nil, err
	}
	for range o.Connections {
		opened, err := connect(c.client, entry, t.HTTP == 1)
		if err != nil {
			return nil, err
		}
		c.connections = append(c.connections, opened)
	}
	for i, customer := range o.Customers {
		c.watchers = append(c.watchers, &watcher{
			user: customer.UserID, line: c.connections[i%o.Connections].line(customer), report: c.add, count: c.count,
		})
	}
	return c, nil
}

func connect(client *exchange.Client, entry target.Entry, sockets bool) (connection, error) {
	switch entry.Protocol {
	case target.GraphQL:
		return graphConnection{&http.Client{Transport: client.NewTransport()}, entry.URL, sockets}, nil
	case target.REST, target.RESTServices:
		return restConnection{&http.Client{Transport: client.NewTransport()}, entry.URL}, nil
	}
	base, err := url.Parse(entry.URL)
	if err != nil {
		return nil, err
	}
	channel, err := client.NewChannel(base.Host,
		grpc.WithReadBufferSize(bufferBytes), grpc.WithWriteBufferSize(bufferBytes), grpc.WithSharedWriteBuffer(true))
	return rpcConnection{channel}, err
}

// Run opens all streams, calls opened with the seconds that this took, and lets all customers watch until the duration
// is over or the context ends. If all streams could be opened, it writes updates.jsonl and watchers.json at the end,
// even after an error.
func (c *Crowd) Run(ctx context.Context, opened func(seconds float64) error) (Figures, error) {
	ctx, end := context.WithCancelCause(ctx)
	c.journal = newJournal(filepath.Join(c.options.Out, "updates.jsonl"))
	var watching sync.WaitGroup
	finish := func() error {
		end(nil)
		watching.Wait()
		for _, each := range c.connections {
			watching.Go(each.close) // a close takes seconds if the peer is gone
		}
		watching.Wait()
		return c.journal.close()
	}
	began := time.Now()
	if err := c.open(ctx, end, &watching); err != nil {
		_ = finish()
		return Figures{}, err
	}
	atOpen := record.ReadUsage(c.client.Meter())
	c.count(func(f *Figures) { f.OpenedS = atOpen.At.Sub(began).Seconds() })
	if err := opened(atOpen.At.Sub(began).Seconds()); err != nil {
		end(err)
	}
	if c.options.Way == Poll {
		for i, w := range c.watchers {
			offset := c.options.Interval * time.Duration(i) / time.Duration(len(c.watchers))
			watching.Go(func() { w.poll(ctx, offset, c.options.Interval) })
		}
	}
	sleep(ctx, c.options.Duration)
	cause := context.Cause(ctx)
	atEnd := record.ReadUsage(c.client.Meter())
	unwritten := finish()
	f := c.figures // all counters are final
	f.measure(atOpen, atEnd)
	f.Dialed, f.Incomplete = c.client.Meter().Dialed(), cause != nil
	return f, cmp.Or(unwritten, atomicfile.WriteJSON(filepath.Join(c.options.Out, "watchers.json"), f), cause)
}

// open opens all watchers within the limit; streams start at once. The first failure ends the context.
func (c *Crowd) open(ctx context.Context, end context.CancelCauseFunc, watching *sync.WaitGroup) error {
	var opening errgroup.Group
	opening.SetLimit(openingAtOnce)
	limit := time.Now().Add(openLimit)
	var there atomic.Int64
	for _, w := range c.watchers {
		opening.Go(func() error {
			err := c.start(ctx, w, time.Until(limit), watching)
			if err == nil {
				there.Add(1)
			} else {
				end(fmt.Errorf("customer %d cannot watch, while %d of %d can: %w", w.user, there.Load(), len(c.watchers), err))
			}
			return nil
		})
	}
	_ = opening.Wait() // the first failure has ended the context
	return context.Cause(ctx)
}

func (c *Crowd) start(ctx context.Context, w *watcher, limit time.Duration, watching *sync.WaitGroup) error {
	if c.options.Way == Poll {
		return w.begin(ctx, limit)
	}
	opened, err := w.connect(ctx, nil, limit)
	if err == nil {
		watching.Go(func() { w.follow(ctx, opened) })
	}
	return err
}

func (c *Crowd) Progress() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d watchers, %d updates, %d missed, %d reconnects, %d failed polls",
		c.figures.Watchers, c.figures.Updates, c.figures.Missed, total(c.figures.Reconnects), total(c.figures.FailedPolls))
}

func (c *Crowd) add(u Update) {
	if !u.Again {
		c.options.Tracing.Update(u.Traceparent, time.Unix(0, u.CreatedNs), time.Unix(0, u.ArrivedNs))
	}
	c.journal.updates <- u
}

func (c *Crowd) count(add func(*Figures)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	add(&c.figures)
}
