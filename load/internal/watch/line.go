package watch

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// News is what a customer is told of an order.
type News struct {
	Position int64     `json:"position"` // among the customer's news, from 1
	OrderID  int64     `json:"order_id"`
	Status   string    `json:"status"`
	Created  time.Time `json:"created_at"` // when the order changed

	Traceparent string `json:"traceparent"` // context of the trace that follows it (W3C), empty if none does
}

// line is one customer's way to the shop. All errors of its methods are ends.
type line interface {
	// open opens a stream of what comes behind a position, or from now on if that is nil. It lasts as long as the context, and calls
	// alive whenever something arrives.
	open(ctx context.Context, after *int64, alive func()) (stream, error)
	// list returns what the customer was told, newest first; nothing if that is the same as in the call before.
	list(ctx context.Context) ([]News, error)
}

// stream returns the next message. It must be called until it fails, which closes it.
type stream func() (message, error)

// message is what a stream brings.
type message struct {
	position int64 // behind which another stream goes on
	news     *News // nil if it only says that the stream is open
}

// Causes of ends, beside gRPC codes and HTTP statuses.
const (
	gone       = "gone"       // the news behind the position are not kept any more
	over       = "ended"      // the shop ended the stream without an error
	broken     = "broken"     // the connection failed, or could not be opened
	silent     = "silent"     // nothing came for too long
	unreadable = "unreadable" // the answer is not what the contract says
)

// end is why a stream, a poll or an attempt at one failed.
type end struct {
	cause string
	err   error
}

func (e *end) Error() string { return fmt.Sprintf("%s: %v", e.cause, e.err) }

func (e *end) Unwrap() error { return e.err }

func ended(cause, format string, args ...any) error { return &end{cause, fmt.Errorf(format, args...)} }

// causeOf returns the name under which an end is counted.
func causeOf(err error) string {
	if known := (*end)(nil); errors.As(err, &known) {
		return known.cause
	}
	return broken
}
