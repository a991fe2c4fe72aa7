// Package shoperr has the errors that callers see: the contract's closed list of codes, and the gRPC status of each.
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

// Domain is that of google.rpc.ErrorInfo.
const Domain = "hopwise"

// Code is the reason of google.rpc.ErrorInfo.
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

// statuses has the status of each code, and after how long the same request may work; 0 where nobody knows.
var statuses = map[Code]struct {
	grpc  codes.Code
	retry time.Duration
}{
	InvalidArgument:      {grpc: codes.InvalidArgument},
	InvalidPageToken:     {grpc: codes.InvalidArgument},
	Unauthenticated:      {grpc: codes.Unauthenticated},
	PermissionDenied:     {grpc: codes.PermissionDenied},
	NotFound:             {grpc: codes.NotFound},
	AlreadyExists:        {grpc: codes.AlreadyExists},
	FailedPrecondition:   {grpc: codes.FailedPrecondition},
	OutOfStock:           {grpc: codes.FailedPrecondition},
	PaymentDeclined:      {grpc: codes.FailedPrecondition},
	IdempotencyKeyReused: {grpc: codes.FailedPrecondition},
	Conflict:             {grpc: codes.Aborted},
	PreconditionFailed:   {grpc: codes.FailedPrecondition},
	PreconditionRequired: {grpc: codes.FailedPrecondition},
	PositionGone:         {grpc: codes.OutOfRange},
	ResourceExhausted:    {grpc: codes.ResourceExhausted},
	TooManyRequests:      {grpc: codes.ResourceExhausted, retry: 5 * time.Minute},
	DeadlineExceeded:     {grpc: codes.DeadlineExceeded},
	Unavailable:          {grpc: codes.Unavailable, retry: time.Second},
	Internal:             {grpc: codes.Internal},
}

// IsKnown tells whether the code is the contract's.
func (c Code) IsKnown() bool {
	_, known := statuses[c]
	return known
}

// IsServerFault tells whether it is no fault of the caller's.
func (c Code) IsServerFault() bool { return c == Internal || c == Unavailable || c == DeadlineExceeded }

// Hidden returns what a caller is told of a cause that is the log's alone.
func Hidden() *Error { return New(Internal, "", "internal error") }

// Error is what a caller is told: a sentence that says what to change, and never an internal detail.
type Error struct {
	Code    Code
	Message string
	Field   string // the argument at fault, in the contract's spelling; empty if none is
	Cause   error  // for the log alone

	Retry time.Duration // when the same request may work, where it differs from the code's own time
}

// New returns an error; field may be empty.
func New(code Code, field, format string, values ...any) *Error {
	return &Error{Code: code, Field: field, Message: fmt.Sprintf(format, values...)}
}

// NoSuch returns the error for an id that does not exist.
func NoSuch(kind string, id int64) *Error {
	return New(NotFound, "id", "there is no %s %d", kind, id)
}

// Existing says of nothing that there is none.
func Existing[T any](thing *T, err error, kind string, id int64) (*T, error) {
	if err == nil && thing == nil {
		err = NoSuch(kind, id)
	}
	return thing, err
}

// RetryAfter returns after how long the same request may work; 0 where nobody knows.
func (e *Error) RetryAfter() time.Duration { return cmp.Or(e.Retry, statuses[e.Code].retry) }

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }
func (e *Error) Unwrap() error { return e.Cause }

// GRPCStatus returns the status with its ErrorInfo, and where a later repetition may work, its RetryInfo.
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
