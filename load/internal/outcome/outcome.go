// Package outcome classifies the ends of journeys; a failed journey is data, not an exception.
package outcome

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"google.golang.org/grpc/codes"
)

type Class string

const (
	OK          Class = "ok"
	Client      Class = "client"       // nothing could be sent, or the request was refused
	Server      Class = "server"       // the shop failed
	Timeout     Class = "timeout"      // no complete answer in time
	WrongAnswer Class = "wrong_answer" // an unreadable or wrong answer
)

// Failures returns all classes but OK, in the order of reports.
func Failures() []Class { return []Class{Client, Server, Timeout, WrongAnswer} }

type Failure struct {
	Class Class
	Cause error
}

func (f *Failure) Error() string { return f.Cause.Error() }
func (f *Failure) Unwrap() error { return f.Cause }

func Failed(class Class, format string, args ...any) error {
	return &Failure{class, fmt.Errorf(format, args...)}
}

func Wrong(format string, args ...any) error { return Failed(WrongAnswer, format, args...) }

// ErrInterrupted is the cause of journeys that were cancelled because the replay was stopped.
var ErrInterrupted = errors.New("interrupted")

// Of returns the class of an error; a passed deadline is always a timeout.
func Of(err error) Class {
	var failure *Failure
	switch {
	case err == nil:
		return OK
	case errors.Is(err, ErrInterrupted), errors.Is(err, context.Canceled):
		return Client
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.As(err, &failure):
		return failure.Class
	}
	return Client
}

// OfStatus returns the class of an HTTP status; 504 and 408 mean that a time limit of the shop has passed.
func OfStatus(status int) Class {
	switch {
	case status >= 200 && status < 300:
		return OK
	case status == http.StatusGatewayTimeout, status == http.StatusRequestTimeout:
		return Timeout
	case status >= 500:
		return Server
	}
	return Client
}

func OfCode(code string) Class {
	switch code {
	case "DEADLINE_EXCEEDED":
		return Timeout
	case "INTERNAL", "UNAVAILABLE":
		return Server
	}
	return Client
}

// OfAnswer returns the class of a code, or that of the status if the code says no more than that the request failed.
// Unknown codes have the class Client, too.
func OfAnswer(coded Class, status int) Class {
	if byStatus := OfStatus(status); coded == Client && byStatus != OK {
		return byStatus
	}
	return coded
}

func OfGRPC(code codes.Code) Class {
	switch code {
	case codes.OK:
		return OK
	case codes.DeadlineExceeded:
		return Timeout
	case codes.Unavailable, codes.Internal, codes.Unknown, codes.DataLoss:
		return Server
	}
	return Client
}
