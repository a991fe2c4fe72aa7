package attack

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hopwise/load/internal/exchange"
)

// Maximum is the highest rate at which this program can send to a minimal server.
type Maximum struct {
	Requests int     `json:"requests"` // answered correctly
	Failed   int     `json:"failed"`
	Error    string  `json:"error,omitempty"` // error of the last failed request
	WallS    float64 `json:"wall_s"`
	Rate     float64 `json:"rate"` // answered requests per second
	P50Us    float64 `json:"p50_us"`
	P99Us    float64 `json:"p99_us"`
}

// Flood sends requests as fast as the closed loop's virtual users can. Like a journey, each request has an exchange and
// a time limit. If requests is above 0, Flood ends after that many requests.
func Flood(ctx context.Context, at *exchange.Entrance, c Closed, requests uint64, timeout time.Duration, send func(context.Context, *exchange.Exchange) error) Maximum {
	var (
		maximum   Maximum
		begun     atomic.Uint64
		mu        sync.Mutex // guards maximum and latencies
		latencies []time.Duration
	)
	began := time.Now()
	c.loop(ctx, func() bool {
		if n := begun.Add(1); requests > 0 && n > requests {
			return false
		}
		limited, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		sent := time.Now()
		err := send(limited, exchange.Untraced(at))
		took := time.Since(sent)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			maximum.Failed++
			maximum.Error = err.Error()
			return true
		}
		latencies = append(latencies, took)
		return true
	})
	maximum.WallS = time.Since(began).Seconds()
	maximum.Requests = len(latencies)
	maximum.Rate = float64(maximum.Requests) / maximum.WallS
	if slices.Sort(latencies); len(latencies) > 0 {
		maximum.P50Us = float64(latencies[len(latencies)/2].Microseconds())
		maximum.P99Us = float64(latencies[len(latencies)*99/100].Microseconds())
	}
	return maximum
}
