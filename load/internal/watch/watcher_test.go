package watch

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hopwise/load/internal/exchange"
	"hopwise/load/internal/target"
)

type fake struct {
	listed []time.Duration // times of requests of its list, from the bubble's beginning
	opens  bool            // whether its streams open
	began  time.Time
	opened int
}

func (f *fake) list(context.Context) ([]News, error) {
	f.listed = append(f.listed, time.Since(f.began))
	return nil, nil
}

func (f *fake) open(ctx context.Context, _ *int64, alive func()) (stream, error) {
	f.opened++
	first := f.opens
	return func() (message, error) {
		if alive(); first {
			first = false
			return message{}, nil
		}
		<-ctx.Done()
		return message{}, ctx.Err()
	}, nil
}

// silence runs a crowd in which each watcher has a separate silent shop, and returns the shops and the results.
func silence(t *testing.T, count int, opens bool, o Options) (shops []*fake, f Figures, err error) {
	t.Helper()
	client, err := exchange.NewClient(target.Target{HTTP: 2}, 0)
	if err != nil {
		t.Fatal(err)
	}
	o.Out = t.TempDir()
	c := &Crowd{options: o, client: client, figures: Figures{FailedPolls: map[string]int{}, Reconnects: map[string]int{}}}
	for i := range count {
		shops = append(shops, &fake{opens: opens, began: time.Now()})
		c.watchers = append(c.watchers, &watcher{user: int64(8001 + i), line: shops[i], report: c.add, count: c.count})
	}
	f, err = c.Run(t.Context(), func(float64) error { return nil })
	return shops, f, err
}

func TestPollsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shops, f, err := silence(t, 4, true, Options{Way: Poll, Interval: 8 * time.Second, Duration: 17 * time.Second})
		if err != nil || f.Polls != 9 || f.OpenS != 17 {
			t.Errorf("%v, %+v", err, f)
		}
		for i, want := range [][]time.Duration{{0, 0, 8, 16}, {0, 2, 10}, {0, 4, 12}, {0, 6, 14}} {
			for k := range want {
				want[k] *= time.Second
			}
			if !slices.Equal(shops[i].listed, want) {
				t.Errorf("watcher %d asked after %v, expected %v", i, shops[i].listed, want)
			}
		}
	})
}

// A silent stream is reopened after a pause of at most a second.
func TestSilentStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shops, f, err := silence(t, 1, true, Options{Way: Push, Duration: 100 * time.Second})
		if err != nil || !maps.Equal(f.Reconnects, map[string]int{silent: 2}) || shops[0].opened != 3 {
			t.Errorf("%v, opened %d times, %+v", err, shops[0].opened, f)
		}
		if f.LongestReconnectS > firstPause.Seconds() {
			t.Errorf("figures %+v", f)
		}
	})
}

// Streams that never open end the command within the limit, even if other data comes.
func TestNeverOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, _, err := silence(t, 3, false, Options{Way: Push, Duration: time.Minute})
		if err == nil || !strings.Contains(err.Error(), "cannot watch, while 0 of 3 can: silent") || time.Since(began) != openLimit {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
