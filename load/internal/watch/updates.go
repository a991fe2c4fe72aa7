package watch

import (
	"context"
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
