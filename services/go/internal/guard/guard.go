// Package guard wraps every method of a service: it applies the caller's deadline, checks the caller, and translates
// errors.
package guard

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"hopwise/services/internal/access"
	"hopwise/services/internal/readmask"
	"hopwise/services/internal/shoperr"
)

const (
	// DeadlineHeader is the header with the edge's time limit, in ms; the name is Envoy's.
	DeadlineHeader = "x-envoy-expected-rq-timeout-ms"
	// Over is the message to a caller whose deadline has passed.
	Over = "the deadline of the request has passed; allow it more time"

	defaultWait = 5 * time.Second  // for a caller with an invalid header
	maxWait     = 30 * time.Second // of any caller
	work        = 0.95             // share of the time limit that the work may take
	readLimit   = 20 * time.Second // for a client to read the next message of a stream

	minPacked = 1024 // bytes of an answer; smaller answers do not benefit
)

// Guard wraps the methods that its rules name, and lets all other methods through, which are health and reflection.
type Guard struct {
	Authenticator *access.Authenticator
	Rules         access.Rules
	Compresses    bool          // whether answers are compressed for clients that accept gzip
	Delay         time.Duration // delay before the work of every request, to prove the measurement
}

// Unary guards unary methods.
func (g *Guard) Unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	rule, isGuarded := g.Rules[info.FullMethod]
	if !isGuarded {
		return handler(ctx, request)
	}
	ctx, cancel := withCallersLimit(ctx)
	defer cancel()
	var answer any
	err := g.run(ctx, rule.GetAccess(), func() error {
		if receive, isPending := ctx.Value(receiveKey{}).(func(any) error); isPending {
			if err := decode(receive, request); err != nil {
				return err
			}
		}
		mask, err := readmask.Of(request, info.FullMethod)
		if err == nil {
			answer, err = handler(ctx, request)
		}
		if err == nil {
			mask.Keep(answer)
		}
		return err
	})
	if message, ok := answer.(proto.Message); ok && proto.Size(message) >= minPacked {
		g.pack(ctx)
	}
	return answer, err
}

// pack compresses answers if the client accepts it.
func (g *Guard) pack(ctx context.Context) {
	if accepted, err := grpc.ClientSupportedCompressors(ctx); g.Compresses && err == nil && slices.Contains(accepted, gzip.Name) {
		_ = grpc.SetSendCompressor(ctx, gzip.Name) // fails only outside of a call
	}
}

// Stream guards streaming methods.
func (g *Guard) Stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	rule, isGuarded := g.Rules[info.FullMethod]
	if !isGuarded {
		return handler(server, stream)
	}
	ctx, cancel := withCallersLimit(stream.Context())
	defer cancel()
	g.pack(stream.Context())
	return g.run(ctx, rule.GetAccess(), func() error { return handler(server, &limitedStream{stream, ctx}) })
}

// run does the work for an admitted caller, and returns errors in the form for callers.
func (g *Guard) run(ctx context.Context, level access.Level, work func() error) error {
	err := Recovering(func() error {
		if g.Delay > 0 {
			Pause(ctx, g.Delay)
		}
		md, _ := metadata.FromIncomingContext(ctx)
		if err := g.Authenticator.Admit(level, md.Get); err != nil {
			return err
		}
		return work()
	})
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) { // the caller has gone
		return status.FromContextError(ctx.Err()).Err()
	}
	failure := ClientError(ctx, err)
	trace.SpanFromContext(ctx).SetAttributes(attribute.String("error.type", string(failure.Code)))
	return failure
}

// Recovering does work, and turns a panic into an error.
func Recovering(work func() error) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = PanicError(panicked)
		}
	}()
	return work()
}

// PanicError returns the error for the client after a panic; the cause goes to the log only.
func PanicError(panicked any) error {
	slog.Error("panic", "cause", panicked, "stack", string(debug.Stack()))
	return shoperr.Hidden()
}

// ClientError returns the error for the client; an unknown cause goes to the log only.
func ClientError(ctx context.Context, err error) *shoperr.Error {
	failure := new(shoperr.Error)
	switch {
	case errors.As(err, &failure):
		if failure.Cause != nil {
			slog.Warn(failure.Message, "code", failure.Code, "error", failure.Cause)
		}
		return failure
	case ctx.Err() != nil:
		return shoperr.New(shoperr.DeadlineExceeded, "", Over)
	}
	slog.Error("unexpected error", "error", err)
	return shoperr.Hidden()
}

// withCallersLimit returns a context that ends slightly before the caller's deadline and the edge's time limit.
func withCallersLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	waits := maxWait
	if deadline, says := ctx.Deadline(); says {
		waits = min(waits, time.Until(deadline))
	}
	md, _ := metadata.FromIncomingContext(ctx)
	if values := md.Get(DeadlineHeader); len(values) > 0 {
		waits = min(waits, EdgeWait(values[len(values)-1]))
	}
	return WithLimit(ctx, waits)
}

// WithLimit returns a context that ends slightly before the caller, who waits this long, stops waiting; the rest of the
// time is for the way back.
func WithLimit(ctx context.Context, waits time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Duration(float64(min(waits, maxWait))*work))
}

// EdgeWait returns how long a caller waits, according to its header.
func EdgeWait(header string) time.Duration {
	ms, err := strconv.ParseUint(header, 10, 30)
	if err != nil || ms == 0 {
		return defaultWait
	}
	return time.Duration(ms) * time.Millisecond
}

// limitedStream has the caller's deadline, and does not wait forever for a client that does not read.
type limitedStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *limitedStream) Context() context.Context { return s.ctx }

func (s *limitedStream) RecvMsg(message any) error { return decode(s.ServerStream.RecvMsg, message) }

// SendMsg gives up on a message that the client does not read; the call then ends.
func (s *limitedStream) SendMsg(message any) error {
	sent := make(chan error, 1)
	go func() { sent <- s.ServerStream.SendMsg(message) }()
	limit := time.NewTimer(readLimit)
	defer limit.Stop()
	select {
	case err := <-sent:
		return err
	case <-s.ctx.Done():
		return s.ctx.Err()
	case <-limit.C:
		return shoperr.New(shoperr.ResourceExhausted, "", "the client does not read what it asked for; call again")
	}
}
