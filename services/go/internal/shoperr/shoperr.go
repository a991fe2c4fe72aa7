// Package shoperr has the errors for callers: the contract's closed list of codes, and their statuses over gRPC and
// HTTP.
package shoperr

import (
	"cmp"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Domain is the domain in google.rpc.ErrorInfo.
const Domain = "hopwise"

// Code is the reason in google.rpc.ErrorInfo.
type Code string

// The contract's codes.
const (
	InvalidArgument      Code = "INVALID_ARGUMENT"
	InvalidPageToken     Code = "INVALID_PAGE_TOKEN"
	Unauthenticated      Code = "UNAUTHENTICATED"
	PermissionDenied     Code = "PERMISSION_DENIED"
	NotFound             Code = "NOT_FOUND"
	AlreadyExists        Code = "ALREADY_EXISTS"
	FailedPrecondition   Code = "FAILED_PRECONDITION"
	OutOfStock           Code = "OUT_OF_STOCK"
	PaymentDeclined      Code = "PAYMENT_DECLINED"
	IdempotencyKeyReused Code = "IDEMPOTENCY_KEY_REUSED"
	Conflict             Code = "CONFLICT"
	PreconditionFailed   Code = "PRECONDITION_FAILED"
	PreconditionRequired Code = "PRECONDITION_REQUIRED"
	PositionGone         Code = "POSITION_GONE"
	ResourceExhausted    Code = "RESOURCE_EXHAUSTED"
	TooManyRequests      Code = "TOO_MANY_REQUESTS"
	DeadlineExceeded     Code = "DEADLINE_EXCEEDED"
	Unavailable          Code = "UNAVAILABLE"
	Internal             Code = "INTERNAL"
)

// statuses has the statuses of each code, the title of its HTTP problem, and the retry delay; 0 if it is unknown.
var statuses = map[Code]struct {
	grpc  codes.Code
	http  int
	title string
	retry time.Duration
}{
	InvalidArgument:      {codes.InvalidArgument, 400, "Invalid argument", 0},
	InvalidPageToken:     {codes.InvalidArgument, 400, "Invalid page token", 0},
	Unauthenticated:      {codes.Unauthenticated, 401, "Not authenticated", 0},
	PermissionDenied:     {codes.PermissionDenied, 403, "Permission denied", 0},
	NotFound:             {codes.NotFound, 404, "Not found", 0},
	AlreadyExists:        {codes.AlreadyExists, 409, "Already exists", 0},
	FailedPrecondition:   {codes.FailedPrecondition, 409, "Not possible in this state", 0},
	OutOfStock:           {codes.FailedPrecondition, 409, "Out of stock", 0},
	PaymentDeclined:      {codes.FailedPrecondition, 402, "Payment declined", 0},
	IdempotencyKeyReused: {codes.FailedPrecondition, 422, "Idempotency key used again", 0},
	Conflict:             {codes.Aborted, 409, "Conflict with another call", 0},
	PreconditionFailed:   {codes.FailedPrecondition, 412, "Changed since it was read", 0},
	PreconditionRequired: {codes.FailedPrecondition, 428, "Condition required", 0},
	PositionGone:         {codes.OutOfRange, 410, "No longer kept", 0},
	ResourceExhausted:    {codes.ResourceExhausted, 413, "Request too large", 0},
	TooManyRequests:      {codes.ResourceExhausted, 429, "Too many requests", 5 * time.Minute},
	DeadlineExceeded:     {codes.DeadlineExceeded, 504, "Deadline exceeded", 0},
	Unavailable:          {codes.Unavailable, 503, "Unavailable", time.Second},
	Internal:             {codes.Internal, 500, "Internal error", 0},
}

// HTTPStatus returns the status of the code over HTTP.
func (c Code) HTTPStatus() int { return statuses[c].http }

// Title returns the title of the code's HTTP problems (RFC 9457).
func (c Code) Title() string { return statuses[c].title }

// IsKnown tells whether the code is in the contract.
func (c Code) IsKnown() bool {
	_, known := statuses[c]
	return known
}

// IsServerFault tells whether the server is at fault.
func (c Code) IsServerFault() bool { return c == Internal || c == Unavailable || c == DeadlineExceeded }

// Hidden returns the caller's error for a cause that only the log may show.
func Hidden() *Error { return New(Internal, "", "internal error") }

// Error is an error for callers: a sentence that says what to change, without internal details.
type Error struct {
	Code    Code
	Message string
	Field   string // the argument at fault, in the contract's spelling; empty if no argument is
	Cause   error  // for the log only

	Retry time.Duration // retry delay; 0 for the code's delay
}

// New returns an error; field may be empty.
func New(code Code, field, format string, values ...any) *Error {
	return &Error{Code: code, Field: field, Message: fmt.Sprintf(format, values...)}
}

// Invalid returns the error for an invalid argument; field may be empty.
func Invalid(field, format string, values ...any) *Error {
	return New(InvalidArgument, field, format, values...)
}

// NoSuch returns the error for an id that does not exist.
func NoSuch(kind string, id int64) *Error {
	return New(NotFound, "id", "there is no %s %d", kind, id)
}

// Existing returns the thing and the error, or the error NoSuch if there is neither.
func Existing[T any](thing *T, err error, kind string, id int64) (*T, error) {
	if err == nil && thing == nil {
		err = NoSuch(kind, id)
	}
	return thing, err
}

// RetryAfter returns the retry delay; 0 if it is unknown.
func (e *Error) RetryAfter() time.Duration { return cmp.Or(e.Retry, statuses[e.Code].retry) }

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }
func (e *Error) Unwrap() error { return e.Cause }

// GRPCStatus returns the status with its ErrorInfo and, if there is a retry delay, its RetryInfo.
func (e *Error) GRPCStatus() *status.Status {
	row := statuses[e.Code]
	info := &errdetails.ErrorInfo{Reason: string(e.Code), Domain: Domain}
	if e.Field != "" {
		info.Metadata = map[string]string{"field": e.Field}
	}
	details := []protoadapt.MessageV1{protoadapt.MessageV1Of(info)}
	if after := e.RetryAfter(); after > 0 {
		retry := &errdetails.RetryInfo{RetryDelay: durationpb.New(after)}
		details = append(details, protoadapt.MessageV1Of(retry))
	}
	full, err := status.New(row.grpc, e.Message).WithDetails(details...)
	if err != nil { // only for a status of OK
		panic(err)
	}
	return full
}
