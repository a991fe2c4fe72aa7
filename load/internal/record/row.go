// Package record writes the results of a replay: a row per journey, vegeta's results, and the generator's figures.
package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"hopwise/load/internal/atomicfile"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/need"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/target"
)

type Mode string

const (
	Open   Mode = "open"   // at its arrival time on the tape, regardless of slow answers
	Closed Mode = "closed" // once the same virtual user's previous journey is answered
	Alone  Mode = "alone"  // once the previous journey is answered
)

// Row is the record of one journey; times are Unix nanoseconds.
type Row struct {
	Seq               int64          `json:"seq"`
	Journey           journey.Name   `json:"journey"`
	Channel           target.Channel `json:"channel"`
	Mode              Mode           `json:"mode"`
	IntendedNs        int64          `json:"intended_ns"` // arrival time on the tape; in a closed loop, its start
	StartedNs         int64          `json:"started_ns"`  // when the generator started it
	EndedNs           int64          `json:"ended_ns"`    // when its answer was read and decoded
	LatencyNs         int64          `json:"latency_ns"`  // ended - intended - pauses
	Outcome           outcome.Class  `json:"outcome"`
	Error             string         `json:"error"`
	BytesIn           int64          `json:"bytes_in"`     // bodies received, in their compressed size
	BytesInRaw        int64          `json:"bytes_in_raw"` // the same, decompressed
	BytesOut          int64          `json:"bytes_out"`    // bodies sent
	Requests          int64          `json:"requests"`
	Waves             int64          `json:"waves"`               // sequential round trips; see exchange.Shape
	Parallel          int64          `json:"parallel"`            // maximum number of requests in flight at a time
	NetworkNs         int64          `json:"network_ns"`          // the journey's time on the customer's link; 0 without an emulated network
	OpeningRoundTrips int64          `json:"opening_round_trips"` // round trips that requests waited for connections to open, and answers for the congestion windows of new connections
	Sampled           bool           `json:"sampled"`
	TraceID           string         `json:"trace_id"`
	AnswerSHA256      string         `json:"answer_sha256"` // of the canonical answer; empty for a failure
	OrderID           int64          `json:"order_id,omitempty"`
	Status            int            `json:"status"` // latest HTTP status
	Beyond            *need.Beyond   `json:"-"`      // nil if answers are not compared, or the screen shows everything
}

// AnswersDigest returns the SHA-256 of all rows in order: of each journey's number and its answer's digest.
func AnswersDigest(rows []Row) string {
	sum := sha256.New()
	for _, row := range rows {
		fmt.Fprintf(sum, "%d %s\n", row.Seq, row.AnswerSHA256)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// WriteVegeta writes the rows in vegeta's own encoding: each hit is a journey, which begins at its intended arrival.
func WriteVegeta(path, attack string, rows []Row) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		encode := vegeta.NewEncoder(w)
		for _, row := range rows {
			if err := encode.Encode(hit(attack, row)); err != nil {
				return err
			}
		}
		return nil
	})
}

func hit(attack string, row Row) *vegeta.Result {
	result := &vegeta.Result{
		Attack:    attack,
		Seq:       uint64(row.Seq),
		Code:      uint16(row.Status),
		Timestamp: time.Unix(0, row.IntendedNs),
		Latency:   time.Duration(row.LatencyNs),
		BytesIn:   uint64(row.BytesIn),
		BytesOut:  uint64(row.BytesOut),
		Method:    "JOURNEY",
		URL:       string(row.Channel) + "/" + string(row.Journey),
	}
	succeeds := result.Code >= 200 && result.Code < 400 // to vegeta, which looks at nothing else
	switch {
	case row.Outcome != outcome.OK:
		result.Error = string(row.Outcome) + ": " + row.Error
		if succeeds {
			result.Code = 0
		}
	case !succeeds: // a step of another target may expect any status, such as 404
		result.Code = http.StatusOK
	}
	return result
}
