package watch

import "hopwise/load/internal/atomicfile"

// Update is a line of updates.jsonl: an update as it reached a customer; times are Unix nanoseconds.
type Update struct {
	UserID    int64  `json:"user_id"`
	Position  int64  `json:"position"`
	OrderID   int64  `json:"order_id"`
	Status    string `json:"status"`
	CreatedNs int64  `json:"created_ns"` // when the order changed, by the shop's clock
	ArrivedNs int64  `json:"arrived_ns"` // when the customer had read it
	Again     bool   `json:"again"`      // whether the position was not above the customer's last position

	Traceparent string `json:"traceparent"` // context of the trace whose root ends with the arrival; empty if there is none
}

// unwritten is the maximum number of updates in the queue before watchers wait for the file.
const unwritten = 1 << 14

type journal struct {
	updates chan Update
	done    chan error
}

func newJournal(path string) *journal {
	j := &journal{updates: make(chan Update, unwritten), done: make(chan error, 1)}
	go func() { j.done <- j.write(path) }()
	return j
}

func (j *journal) write(path string) error {
	err := atomicfile.WriteRows(path, func(add func(any) error) error {
		for update := range j.updates {
			if err := add(update); err != nil {
				return err
			}
		}
		return nil
	})
	for range j.updates { // watchers do not wait for a file that cannot be written
	}
	return err
}

// close waits until everything is written; no update may be added after the call.
func (j *journal) close() error {
	close(j.updates)
	return <-j.done
}
