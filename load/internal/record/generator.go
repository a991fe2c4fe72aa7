package record

import (
	"runtime"
	"slices"
	"syscall"
	"time"

	"hopwise/load/internal/link"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/tape"
	"hopwise/load/internal/target"
	"hopwise/load/internal/wire"
)

// Generator has a load generator's figures for a replay, or those of several generators that replayed a tape's shards.
type Generator struct {
	Mode            Mode           `json:"mode"`
	Shard           tape.Shard     `json:"shard"`            // shard of the tape, I/N
	Shards          []Generator    `json:"shards,omitempty"` // figures of each generator, if there were several
	Closed          *ClosedLoop    `json:"closed,omitempty"`
	Network         *Network       `json:"network,omitempty"` // emulated between customers and edge
	Plan            string         `json:"plan"`
	Journeys        int            `json:"journeys"` // sent
	TapeJourneys    int            `json:"tape_journeys"`
	Incomplete      bool           `json:"incomplete"` // stopped before the whole tape was sent and answered
	Outcomes        map[string]int `json:"outcomes"`
	WallS           float64        `json:"wall_s"` // from the start of the replay to the last answer
	CPUS            float64        `json:"cpu_s"`  // user and system CPU time of the generator in this time
	GCPauseMs       float64        `json:"gc_pause_ms"`
	MaxRSSMb        float64        `json:"max_rss_mb"`
	Priority        string         `json:"priority"`           // of the generator: normal or realtime
	Connections     int            `json:"connections"`        // as requested; for a shard, its share
	Dialed          int64          `json:"connections_dialed"` // actually opened
	HTTP            int            `json:"http"`
	WireBytesIn     int64          `json:"wire_bytes_in"`    // received in the replay, headers and framing included
	WireBytesOut    int64          `json:"wire_bytes_out"`   // sent in the replay
	OpeningIn       int64          `json:"opening_bytes_in"` // received earlier, to open connections and register queries
	OpeningOut      int64          `json:"opening_bytes_out"`
	NotModified     *int64         `json:"not_modified,omitempty"` // requests answered from the customers' caches after a 304; nil without caches
	StartLagP50Us   float64        `json:"start_lag_p50_us"`
	StartLagP99Us   float64        `json:"start_lag_p99_us"`
	StartLagMaxUs   float64        `json:"start_lag_max_us"`
	TapeSHA256      string         `json:"tape_sha256"`
	AnswersSHA256   string         `json:"answers_sha256"`
	Trace           float64        `json:"trace"` // requested share of traced journeys
	Sampled         int            `json:"sampled"`
	SpansExported   int64          `json:"spans_exported"`
	SpansDropped    int64          `json:"spans_dropped"`
	Tracing         *TracingCost   `json:"tracing,omitempty"` // if journeys were traced
	GoVersion       string         `json:"go_version"`
	GoMaxProcs      int            `json:"gomaxprocs"`
	Topology        string         `json:"topology"`
	Trial           string         `json:"trial"`
	FirstIntendedNs int64          `json:"first_intended_ns"` // Unix time
	LastEndedNs     int64          `json:"last_ended_ns"`     // Unix time
}

type TracingCost struct {
	ExportCPUS float64            `json:"export_cpu_s"` // CPU time for sending spans after the replay
	CostNs     map[string]float64 `json:"cost_ns"`      // cost of a span for its journey, by kind of span
}

type ClosedLoop struct {
	VUs           int     `json:"vus"` // virtual users
	ThinkS        float64 `json:"think_s"`
	DurationS     float64 `json:"duration_s"`     // requested duration
	TapeExhausted bool    `json:"tape_exhausted"` // whether the tape ended before the duration was over
}

// Network describes the emulated network of each channel, and the number of customers.
type Network struct {
	Channels  map[target.Channel]Link `json:"channels"`
	Visit     link.Visit              `json:"visit"`
	Customers int                     `json:"customers"` // with separate connections
	Late      int                     `json:"late"`      // customers opened by a journey on a warm visit
}

// Link describes the link that each customer of a channel has.
type Link struct {
	RTTMs float64 `json:"rtt_ms"`
	Down  int64   `json:"down_bits_s"` // 0 for no limit
	Up    int64   `json:"up_bits_s"`   // 0 for no limit
}

type Usage struct {
	At      time.Time
	Wall    time.Duration
	CPU     time.Duration
	GCPause time.Duration
	MaxRSS  int64 // bytes
	Wire    wire.Count
}

// ReadUsage reads the process's usage since its start, and the traffic of its connections.
func ReadUsage(meter *wire.Meter) Usage {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // cannot fail for this process
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return Usage{
		At:      time.Now(),
		CPU:     time.Duration(used.Utime.Nano() + used.Stime.Nano()),
		GCPause: time.Duration(memory.PauseTotalNs),
		MaxRSS:  peakMemory(used),
		Wire:    meter.Count(),
	}
}

// Since returns the usage after the earlier reading; but peak memory counts from the start of the process.
func (u Usage) Since(earlier Usage) Usage {
	return Usage{
		At: u.At, Wall: u.At.Sub(earlier.At), CPU: u.CPU - earlier.CPU, GCPause: u.GCPause - earlier.GCPause, MaxRSS: u.MaxRSS,
		Wire: u.Wire.Since(earlier.Wire),
	}
}

// Summarise fills in the figures that follow from the rows and the usage.
func (g *Generator) Summarise(rows []Row, used Usage) {
	g.count(rows)
	g.WallS = used.Wall.Seconds()
	g.CPUS = used.CPU.Seconds()
	g.GCPauseMs = float64(used.GCPause) / 1e6
	g.MaxRSSMb = float64(used.MaxRSS) / 1e6
	g.WireBytesIn, g.WireBytesOut = used.Wire.In, used.Wire.Out
	g.GoVersion = runtime.Version()
	g.GoMaxProcs = runtime.GOMAXPROCS(0)
}

// count fills in the figures that follow from the rows.
func (g *Generator) count(rows []Row) {
	g.Journeys = len(rows)
	g.Outcomes = map[string]int{string(outcome.OK): 0}
	for _, class := range outcome.Failures() {
		g.Outcomes[string(class)] = 0
	}
	g.Sampled, g.LastEndedNs = 0, 0
	lags := make([]int64, 0, len(rows))
	for _, row := range rows {
		g.Outcomes[string(row.Outcome)]++
		lags = append(lags, row.StartedNs-row.IntendedNs)
		if row.Sampled {
			g.Sampled++
		}
		g.LastEndedNs = max(g.LastEndedNs, row.EndedNs)
	}
	if len(rows) > 0 {
		slices.Sort(lags)
		g.FirstIntendedNs = rows[0].IntendedNs
		g.StartLagP50Us = quantile(lags, 50) / 1e3
		g.StartLagP99Us = quantile(lags, 99) / 1e3
		g.StartLagMaxUs = float64(lags[len(lags)-1]) / 1e3
	}
	g.AnswersSHA256 = AnswersDigest(rows)
}

// quantile returns the smallest value that at least the given percentage of the sorted values do not exceed.
func quantile(sorted []int64, percent int) float64 {
	return float64(sorted[(len(sorted)*percent+99)/100-1])
}
