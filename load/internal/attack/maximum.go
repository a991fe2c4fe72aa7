package attack

import (
	"context"
	"net/http"
	"slices"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"hopwise/load/internal/exchange"
)

// Maximum is how fast this program can send to a server that does next to nothing.
type Maximum struct {
	Requests int     `json:"requests"` // answered as they should
	Failed   int     `json:"failed"`
	Error    string  `json:"error,omitempty"` // of the last one that failed
	WallS    float64 `json:"wall_s"`
	Rate     float64 `json:"rate"` // requests answered, per second
	P50Us    float64 `json:"p50_us"`
	P99Us    float64 `json:"p99_us"`
}

// Flood sends as fast as a closed loop of so many virtual users can, the same way as journeys are sent: by vegeta's
// attacker, through an exchange each, with a limit of time each. It ends after so many requests if they are above 0.
func Flood(ctx context.Context, at *exchange.Entrance, c Closed, requests uint64, timeout time.Duration, send func(context.Context, *exchange.Exchange) error) Maximum {
	trip := roundTripper(func(r *http.Request) (*http.Response, error) {
		limited, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		if err := send(limited, exchange.Untraced(at)); err != nil {
			return nil, err
		}
		return done(r), nil
	})
	users := uint64(c.VUs)
	attacker := vegeta.NewAttacker(vegeta.Workers(users), vegeta.MaxWorkers(users), vegeta.Client(&http.Client{Transport: trip}))
	stop := context.AfterFunc(ctx, func() { attacker.Stop() })
	defer stop()

	var (
		maximum   Maximum
		latencies []time.Duration
		began     = time.Now()
	)
	for hit := range attacker.Attack(targeter, atOnce(requests), c.Duration, "") {
		if hit.Error != "" {
			maximum.Failed++
			maximum.Error = hit.Error
			continue
		}
		latencies = append(latencies, hit.Latency)
	}
	maximum.WallS = time.Since(began).Seconds()
	maximum.Requests = len(latencies)
	maximum.Rate = float64(maximum.Requests) / maximum.WallS
	if slices.Sort(latencies); len(latencies) > 0 {
		maximum.P50Us = float64(latencies[len(latencies)/2].Microseconds())
		maximum.P99Us = float64(latencies[len(latencies)*99/100].Microseconds())
	}
	return maximum
}

// atOnce lets vegeta send so many requests without a pause; 0 for as many as there is time for.
type atOnce uint64

func (n atOnce) Pace(_ time.Duration, hits uint64) (time.Duration, bool) {
	return 0, n > 0 && hits >= uint64(n)
}

// Rate is for vegeta's display of an attack, which nobody sees.
func (n atOnce) Rate(time.Duration) float64 { return 0 }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
