package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // registers gzip, which channels then accept; services compress if a setting says so
	"google.golang.org/grpc/metadata"

	"hopwise/load/internal/telemetry"
)

// After a lost connection, the first attempt to reopen it comes after this time; later ones at most a second apart.
const firstRetry = 20 * time.Millisecond

// traceparent is the metadata with the trace context (W3C Trace Context), which differs in each request.
const traceparent = "traceparent"

// journeyHeader sends the kind of journey to the edge.
const journeyHeader = "x-journey"

// NewChannel returns a gRPC channel with one connection, not open yet. The options add to the usual ones.
func (c *Client) NewChannel(address string, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	security := insecure.NewCredentials()
	if c.tls != nil {
		security = credentials.NewTLS(c.tls)
	}
	if c.reach.Emulated() {
		security = watched{security, c.reach}
	}
	usual := []grpc.DialOption{
		grpc.WithTransportCredentials(security),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return c.dial(ctx, "tcp", address)
		}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: firstRetry, Multiplier: 1.6, MaxDelay: time.Second},
			MinConnectTimeout: c.openLimit(),
		}),
		grpc.WithStatsHandler(progressHandler{}),
		grpc.WithUserAgent("shopload"),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxBody)),
		grpc.WithInitialWindowSize(streamWindow),
		grpc.WithInitialConnWindowSize(connectionWindow),
		grpc.WithIdleTimeout(0), // the channel stays open for the whole load
		grpc.WithDisableServiceConfig(),
	}
	if c.sockets[address] != "" {
		usual = append(usual, grpc.WithAuthority("localhost"))
	}
	return grpc.NewClient("passthrough:///"+address, append(usual, options...)...)
}

func (at *Entrance) await(ctx context.Context, channel *grpc.ClientConn) error {
	switch openChannel(ctx, channel) {
	case connectivity.Ready:
		return nil
	case connectivity.TransientFailure:
		return at.client.cause(ctx, at.base.Host)
	}
	return ctx.Err()
}

// openChannel opens the channel's connection, and returns the state: ready, a failure, or neither after the time limit.
func openChannel(ctx context.Context, channel *grpc.ClientConn) connectivity.State {
	channel.Connect()
	for {
		state := channel.GetState()
		if state == connectivity.Ready || state == connectivity.TransientFailure || !channel.WaitForStateChange(ctx, state) {
			return state
		}
	}
}

// Channel lets generated gRPC clients send a journey's RPCs. Each RPC has the token, a span and the trace context, and
// the RPCs use the client's connections in turn.
//
// Errors are failures with a class; progress.failure has the rules.
func (x *Exchange) Channel(token string) grpc.ClientConnInterface {
	return &rpcChannel{x: x, token: token}
}

type rpcChannel struct {
	x     *Exchange
	token string
}

func (c *rpcChannel) Invoke(ctx context.Context, method string, request, answer any, options ...grpc.CallOption) error {
	r, ctx := c.start(ctx, method)
	channel, err := r.channel(ctx)
	if err == nil {
		err = channel.Invoke(ctx, method, request, answer, options...)
		if err == nil {
			c.x.compareMessage(answer)
		}
	}
	return r.finish(err)
}

// NewStream opens a stream; its span ends once the stream has been read to its end.
func (c *rpcChannel) NewStream(
	ctx context.Context, description *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	r, ctx := c.start(ctx, method)
	channel, err := r.channel(ctx)
	if err != nil {
		return nil, r.finish(err)
	}
	stream, err := channel.NewStream(ctx, description, method, options...)
	if err != nil {
		return nil, r.finish(err)
	}
	return &readStream{ClientStream: stream, rpc: r}, nil
}

func (c *rpcChannel) start(ctx context.Context, method string) (*rpc, context.Context) {
	c.x.begin()
	call := c.x.trace.RPC(telemetry.GRPC, method)
	var pairs []string
	c.x.declare(call.Traceparent(), c.token, func(name, value string) { pairs = append(pairs, name, value) })
	r := &rpc{x: c.x, call: call, method: method, progress: &progress{sizes: &c.x.sizes, way: c.x.at.client.follow(true)}}
	return r, metadata.AppendToOutgoingContext(context.WithValue(ctx, progressKey{}, r.progress), pairs...)
}

type rpc struct {
	x        *Exchange
	call     telemetry.Call
	method   string
	progress *progress
	own      *grpc.ClientConn // the RPC's exclusive channel; nil if it shares one
	once     sync.Once
}

// channel returns the channel for the RPC: the next of the shared channels, or a new channel with an open connection.
func (r *rpc) channel(ctx context.Context) (_ *grpc.ClientConn, err error) {
	at := r.x.at
	if !at.client.fresh {
		return at.channels[at.calls.Add(1)%uint64(len(at.channels))], nil
	}
	if r.own, err = at.client.NewChannel(at.base.Host); err == nil {
		openChannel(ctx, r.own) // after a failure, the RPC returns the cause
		r.progress.way.connected()
	}
	return r.own, err
}

// finish ends the RPC once and returns the error as a failure with a class.
func (r *rpc) finish(err error) error {
	failure := r.progress.failure(r.method, err)
	r.once.Do(func() {
		if r.progress.answered() {
			r.x.status.Store(http.StatusOK) // the status of every gRPC answer
		}
		r.x.end(r.progress.way, r.call).EndRPC(err, failure)
		if r.own != nil {
			go r.own.Close() // Close sends GOAWAY first
		}
	})
	return failure
}

type readStream struct {
	grpc.ClientStream
	rpc *rpc
}

// RecvMsg reads the next message; io.EOF is the end of a complete, successful stream.
func (s *readStream) RecvMsg(message any) error {
	err := s.ClientStream.RecvMsg(message)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF):
		_ = s.rpc.finish(nil)
		return io.EOF
	}
	return s.rpc.finish(err)
}

// SendMsg sends the request; after a failure RecvMsg returns the cause.
func (s *readStream) SendMsg(message any) error {
	err := s.ClientStream.SendMsg(message)
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return s.rpc.finish(err)
}

// shortMethod turns "/shop.order.v1.OrderService/GetOrder" into "OrderService/GetOrder".
func shortMethod(method string) string {
	service, name, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	return fmt.Sprintf("%s/%s", service[strings.LastIndex(service, ".")+1:], name)
}
