package watch

import (
	"context"
	"errors"
	"fmt"
	"time"
)

type News struct {
	Position int64     `json:"position"` // number among the customer's updates, from 1
	OrderID  int64     `json:"order_id"`
	Status   string    `json:"status"`
	Created  time.Time `json:"created_at"` // when the order changed

	Traceparent string `json:"traceparent"` // context of the trace that follows the update (W3C); empty if there is none
}

// line is one customer's access to the shop. All errors that its methods return are of type end.
type line interface {
	// open opens a stream of the updates after a position, or of all new updates if the position is nil. The stream lasts
	// as long as the context, and calls alive whenever data arrives.
	open(ctx context.Context, after *int64, alive func()) (stream, error)
	// list returns the customer's updates, newest first; it may return nil if nothing has changed since the previous call.
	list(ctx context.Context) ([]News, error)
}

// stream returns the next message. It must be called until it fails; the failure closes the stream.
type stream func() (message, error)

type message struct {
	position int64 // position after which another stream can continue
	news     *News // nil if the message only reports that the stream is open
}

// The causes of an end, in addition to gRPC codes and HTTP statuses.
const (
	gone       = "gone"       // updates after the position are no longer kept
	over       = "ended"      // the shop ended the stream without an error
	broken     = "broken"     // the connection failed, or could not be opened
	silent     = "silent"     // no data for too long
	unreadable = "unreadable" // the answer violates the contract
)

// end describes why a stream, a poll, or an attempt to open a stream failed.
type end struct {
	cause string
	err   error
}

func (e *end) Error() string                         { return fmt.Sprintf("%s: %v", e.cause, e.err) }
func (e *end) Unwrap() error                         { return e.err }
func newEnd(cause, format string, args ...any) error { return &end{cause, fmt.Errorf(format, args...)} }

func causeOf(err error) string {
	if known := (*end)(nil); errors.As(err, &known) {
		return known.cause
	}
	return broken
}
