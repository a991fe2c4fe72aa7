package exchange

import (
	"context"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"hopwise/load/internal/outcome"
)

// progress records how far an RPC got. Its status alone may come from the server, or from the library without one.
type progress struct {
	sizes   *sizeCounter
	way     *crossing   // nil without an emulated network
	sent    atomic.Bool // the request's headers went to a connection
	began   atomic.Bool // the answer's headers came, and were gRPC's
	trailer atomic.Bool // the answer ended with a status
}

func (p *progress) answered() bool { return p.began.Load() || p.trailer.Load() }

// failure returns the error of an RPC as a failure with a class, like the error of an HTTP request:
//
//   - client if nothing could be sent;
//   - the class of the status if the server sent a status (outcome.OfGRPC);
//   - wrong_answer if the answer began but did not end (no trailer, a stream that breaks off), if its message cannot be
//     read, or if the answer is successful but not gRPC;
//   - server if no answer came at all.
func (p *progress) failure(method string, err error) error {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	name := shortMethod(method)
	switch {
	case s.Code() == codes.DeadlineExceeded || s.Code() == codes.Canceled:
	case !p.sent.Load():
		return outcome.Failed(outcome.Client, "%s: %w", name, err)
	case unreadable(s.Message()):
		return outcome.Wrong("%s: the answer is not the message asked for: %w", name, err)
	case p.trailer.Load():
	case p.began.Load():
		return outcome.Wrong("%s: the answer breaks off without a status: %w", name, err)
	case strings.HasPrefix(s.Message(), notGRPC):
		return outcome.Wrong("%s: the answer is not gRPC: %w", name, err)
	}
	failed := outcome.Failed(outcome.OfGRPC(s.Code()), "%s: %s: %s", name, s.Code(), s.Message())
	if p.trailer.Load() {
		return &Refusal{failed}
	}
	return failed
}

// Refusal is the failure of an RPC whose code the server sent. The library chooses the code of any other failure, such
// as UNAVAILABLE if no connection can be opened.
type Refusal struct{ error }

func (r *Refusal) Unwrap() error { return r.error }

// notGRPC is the prefix of grpc-go's message for a successful answer with another content type.
const notGRPC = "unexpected HTTP status code received from server: 200 "

// unreadable tells whether the library's message is about an answer with a successful status but invalid content.
func unreadable(message string) bool {
	return strings.Contains(message, "failed to unmarshal the received message") || strings.Contains(message, "cardinality violation")
}

type progressKey struct{}
type progressHandler struct{}

var _ stats.Handler = progressHandler{}

func (progressHandler) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (progressHandler) HandleRPC(ctx context.Context, event stats.RPCStats) {
	p, ok := ctx.Value(progressKey{}).(*progress)
	if !ok {
		return
	}
	switch e := event.(type) {
	case *stats.DelayedPickComplete:
		p.way.connected()
	case *stats.OutHeader:
		p.sent.Store(true)
		p.way.queued(e.LocalAddr, strings.Join(e.Header.Get(traceparent), ""))
	case *stats.OutPayload:
		p.sizes.out.Add(int64(e.CompressedLength))
	case *stats.InHeader:
		p.began.Store(true)
	case *stats.InPayload:
		p.sizes.in.Add(int64(e.CompressedLength))
		p.sizes.inRaw.Add(int64(e.Length))
	case *stats.InTrailer:
		p.trailer.Store(true)
		p.way.read()
	}
}

func (progressHandler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (progressHandler) HandleConn(context.Context, stats.ConnStats)                       {}
