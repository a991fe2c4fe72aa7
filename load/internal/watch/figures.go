package watch

import (
	"hopwise/load/internal/record"
	"hopwise/load/internal/target"
)

// Figures are the content of watchers.json. Bytes, CPU and polls count from when all watchers were open.
type Figures struct {
	Watchers          int             `json:"watchers"`
	Users             []int64         `json:"users"` // ids of the watchers
	Way               Way             `json:"way"`
	Protocol          target.Protocol `json:"protocol"`
	IntervalS         float64         `json:"interval_s"`         // interval of a watcher's polls; 0 with push
	Connections       int             `json:"connections"`        // as requested; the number of watchers if each has its own
	Dialed            int64           `json:"connections_dialed"` // actually opened, including after failures
	OpenedS           float64         `json:"opened_s"`           // time to open all watchers
	OpenS             float64         `json:"open_s"`             // time from when all watchers were open to the end
	Incomplete        bool            `json:"incomplete"`         // interrupted before the duration was over
	Updates           int64           `json:"updates"`
	Repeated          int64           `json:"repeated"`            // updates received again
	Missed            int64           `json:"missed"`              // skipped positions
	Polls             int64           `json:"polls"`               // including failed polls
	FailedPolls       map[string]int  `json:"failed_polls"`        // by cause
	Reconnects        map[string]int  `json:"reconnects"`          // attempts to reopen a stream, by the cause that ended the previous stream or attempt
	LongestReconnectS float64         `json:"longest_reconnect_s"` // longest time without a stream; until the end if it was not reopened
	BytesIn           int64           `json:"bytes_in"`            // received, headers and framing included
	BytesOut          int64           `json:"bytes_out"`
	OpeningIn         int64           `json:"opening_bytes_in"` // received before all watchers were open
	OpeningOut        int64           `json:"opening_bytes_out"`
	CPUS              float64         `json:"cpu_s"`         // user and system time of this process
	MaxRSSBytes       int64           `json:"max_rss_bytes"` // since the process began
}

func total(byCause map[string]int) (sum int) {
	for _, count := range byCause {
		sum += count
	}
	return sum
}

// measure fills in the process's usage, from when all watchers were open until the end.
func (f *Figures) measure(open, end record.Usage) {
	used := end.Since(open)
	f.OpenS = used.Wall.Seconds()
	f.BytesIn, f.BytesOut = used.Wire.In, used.Wire.Out
	f.OpeningIn, f.OpeningOut = open.Wire.In, open.Wire.Out
	f.CPUS = used.CPU.Seconds()
	f.MaxRSSBytes = used.MaxRSS
}
