package exchange

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"hopwise/load/internal/outcome"
	"hopwise/load/internal/rawproto"
	"hopwise/load/internal/target"
	"hopwise/load/internal/telemetry"
)

// ByConnect lets generated gRPC clients send calls through connect-go. With Connect, read-only calls use GET.
func (x *Exchange) ByConnect(token string, p target.Protocol) grpc.ClientConnInterface {
	return &connectChannel{x, token, p}
}

type connectChannel struct {
	x        *Exchange
	token    string
	protocol target.Protocol
}

type procedure struct {
	base     string
	protocol target.Protocol
	method   string
}

type procedureClient = connect.Client[rawproto.Message, rawproto.Message]

// client returns the client for a method, which all journeys share.
func (c *connectChannel) client(method string) *procedureClient {
	of := procedure{c.x.at.base.String(), c.protocol, method}
	if known, ok := c.x.at.client.procedures.Load(of); ok {
		return known.(*procedureClient)
	}
	options := []connect.ClientOption{connect.WithCodec(rawproto.Codec{}), connect.WithReadMaxBytes(maxBody)}
	switch c.protocol {
	case target.GRPCWeb:
		options = append(options, connect.WithGRPCWeb())
	case target.GRPCConnectClient:
		options = append(options, connect.WithGRPC())
	default:
		if reads(method) {
			options = append(options, connect.WithHTTPGet(), connect.WithIdempotency(connect.IdempotencyNoSideEffects))
		}
	}
	if c.x.at.client.acceptEncoding[0] != gzipEncoding {
		options = append(options, connect.WithAcceptCompression(gzipEncoding, nil, nil))
	}
	made, _ := c.x.at.client.procedures.LoadOrStore(of, connect.NewClient[rawproto.Message, rawproto.Message](sender{}, of.base+method, options...))
	return made.(*procedureClient)
}

// reads tells whether a method is unary and, according to the contract, read-only.
func reads(method string) bool {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", "."))
	known, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return false
	}
	of, isMethod := known.(protoreflect.MethodDescriptor)
	if !isMethod || of.IsStreamingServer() {
		return false
	}
	options, _ := of.Options().(*descriptorpb.MethodOptions)
	return options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS
}

func (c *connectChannel) Invoke(ctx context.Context, method string, request, answer any, _ ...grpc.CallOption) error {
	call, ctx := c.start(ctx, method, c.protocol != target.Connect || !reads(method))
	asks := connect.NewRequest(&rawproto.Message{Of: request.(proto.Message)})
	c.x.declare(call.span.Traceparent(), c.token, asks.Header().Set)
	answered, err := c.client(method).CallUnary(ctx, asks)
	if err != nil {
		return call.finish(err)
	}
	call.decoded(len(answered.Msg.Bytes))
	if err := proto.Unmarshal(answered.Msg.Bytes, answer.(proto.Message)); err != nil {
		return call.finish(err)
	}
	c.x.compareMessage(answer)
	return call.finish(nil)
}

// NewStream opens a stream of answers; sending the first message requests them.
func (c *connectChannel) NewStream(ctx context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	call, ctx := c.start(ctx, method, true)
	return &connectStream{ctx: ctx, channel: c, call: call}, nil
}

func (c *connectChannel) start(ctx context.Context, method string, body bool) (*connectCall, context.Context) {
	c.x.begin()
	system := telemetry.GRPC
	if c.protocol == target.Connect {
		system = telemetry.Connect
	}
	call := &connectCall{x: c.x, method: method, span: c.x.trace.RPC(system, method), way: c.x.at.client.follow(body)}
	return call, context.WithValue(ctx, connectKey{}, call)
}

type connectKey struct{}

type connectCall struct {
	x      *Exchange
	method string
	span   telemetry.Call
	way    *crossing
	once   sync.Once

	unsent outcome.Class // empty once there is an answer
	status int           // HTTP status; 0 for no answer
	packed bool          // whether the answer is compressed
	wire   atomic.Int64  // bytes of the answer's body
	plain  atomic.Int64  // bytes of the answer's messages
}

func (c *connectCall) decoded(size int) { c.plain.Add(int64(size)) }

// finish ends the call once and returns its error as a failure with a class.
func (c *connectCall) finish(err error) error {
	failure := c.failure(err)
	c.once.Do(func() {
		if c.status != 0 {
			c.x.status.Store(int64(c.status))
		}
		c.x.sizes.in.Add(c.wire.Load())
		raw := c.wire.Load()
		if c.packed {
			raw = c.plain.Load()
		}
		c.x.sizes.inRaw.Add(raw)
		var ended error
		if err != nil {
			ended = status.Error(codes.Code(connect.CodeOf(err)), "")
		}
		c.x.end(c.way, c.span).EndRPC(ended, failure)
	})
	return failure
}

// failure returns a call's error with a class, as progress.failure does for grpc-go. The class is of the service's
// code, if any, else of the HTTP status. An error despite a successful status is a wrong_answer.
func (c *connectCall) failure(err error) error {
	if err == nil {
		return nil
	}
	code, name := codes.Code(connect.CodeOf(err)), shortMethod(c.method)
	switch {
	case code == codes.DeadlineExceeded || code == codes.Canceled || connect.IsWireError(err):
		return outcome.Failed(outcome.OfGRPC(code), "%s: %w", name, err)
	case c.unsent != "":
		return outcome.Failed(c.unsent, "%s: %w", name, err)
	case c.status == 0:
		return outcome.Failed(outcome.Client, "%s: %w", name, err)
	case outcome.OfStatus(c.status) != outcome.OK:
		return outcome.Failed(outcome.OfStatus(c.status), "%s: %w", name, err)
	}
	return outcome.Wrong("%s: the answer is not the message asked for: %w", name, err)
}

type sender struct{}

var _ connect.HTTPClient = sender{}

// Do sends a request; the context of the request has the call that it belongs to.
func (sender) Do(r *http.Request) (*http.Response, error) {
	call := r.Context().Value(connectKey{}).(*connectCall)
	at := call.x.at
	r = r.WithContext(call.way.withTrace(r.Context()))
	r.Host = at.host
	call.x.sizes.out.Add(max(r.ContentLength, 0))
	transport, leave := at.transport()
	answer, err := transport.RoundTrip(r)
	if err != nil {
		leave()
		call.unsent = classUnanswered(err)
		return nil, err
	}
	call.way.answered()
	call.status = answer.StatusCode
	for _, name := range []string{"Content-Encoding", "Grpc-Encoding", "Connect-Content-Encoding"} {
		call.packed = call.packed || answer.Header.Get(name) == gzipEncoding
	}
	answer.Body = &countedBody{answer.Body, call, leave}
	return answer, nil
}

// countedBody counts an answer's bytes and records when the last byte came.
type countedBody struct {
	io.ReadCloser
	call  *connectCall
	leave func()
}

func (b *countedBody) Read(to []byte) (int, error) {
	n, err := b.ReadCloser.Read(to)
	b.call.wire.Add(int64(n))
	if errors.Is(err, io.EOF) {
		b.call.way.read()
	}
	return n, err
}

func (b *countedBody) Close() error {
	defer b.leave()
	return b.ReadCloser.Close()
}

// connectStream is a stream of answers; its span ends once the stream has been read to its end.
type connectStream struct {
	ctx     context.Context
	channel *connectChannel
	call    *connectCall
	stream  *connect.ServerStreamForClient[rawproto.Message]
}

var _ grpc.ClientStream = (*connectStream)(nil)

func (s *connectStream) SendMsg(message any) (err error) {
	asks := connect.NewRequest(&rawproto.Message{Of: message.(proto.Message)})
	s.call.x.declare(s.call.span.Traceparent(), s.channel.token, asks.Header().Set)
	if s.stream, err = s.channel.client(s.call.method).CallServerStream(s.ctx, asks); err != nil {
		return s.call.finish(err)
	}
	return nil
}

// RecvMsg reads the next message; io.EOF is the end of a complete, successful stream.
func (s *connectStream) RecvMsg(message any) error {
	if s.stream.Receive() {
		got := s.stream.Msg().Bytes
		s.call.decoded(len(got))
		if err := proto.Unmarshal(got, message.(proto.Message)); err != nil {
			_ = s.stream.Close()
			return s.call.finish(err)
		}
		return nil
	}
	err := s.stream.Err()
	_ = s.stream.Close()
	if failure := s.call.finish(err); failure != nil {
		return failure
	}
	return io.EOF
}

// CloseSend does nothing: the request's only message has been sent.
func (s *connectStream) CloseSend() error { return nil }

func (s *connectStream) Context() context.Context     { return s.ctx }
func (s *connectStream) Header() (metadata.MD, error) { return metadata.MD{}, nil }

// Trailer is empty: its content is in the error.
func (s *connectStream) Trailer() metadata.MD { return nil }
