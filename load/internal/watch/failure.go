package watch

import (
	"errors"
	"fmt"
)

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
