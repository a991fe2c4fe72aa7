package shoptest

import (
	"context"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"hopwise/load/internal/rawproto"
)

// browserHandlers returns handlers, by path, that serve the services over Connect, and over gRPC-Web, as an edge that
// translates does.
func (s *Shop) browserHandlers(intercept grpc.UnaryServerInterceptor) map[string]http.Handler {
	handlers := map[string]http.Handler{}
	options := []connect.HandlerOption{connect.WithCodec(rawproto.Codec{}), connect.WithIdempotency(connect.IdempotencyNoSideEffects)}
	for _, each := range s.services {
		for _, method := range each.desc.Methods {
			path := "/" + each.desc.ServiceName + "/" + method.MethodName
			handlers[path] = connect.NewUnaryHandler(path, func(ctx context.Context, r *connect.Request[rawproto.Message]) (*connect.Response[rawproto.Message], error) {
				answer, err := method.Handler(each.server, withMetadata(ctx, r.Header()), decoderOf(r.Msg), intercept)
				if err != nil {
					return nil, connectError(err)
				}
				return connect.NewResponse(&rawproto.Message{Of: answer.(proto.Message)}), nil
			}, options...)
		}
		for _, stream := range each.desc.Streams {
			path := "/" + each.desc.ServiceName + "/" + stream.StreamName
			handlers[path] = connect.NewServerStreamHandler(path, func(ctx context.Context, r *connect.Request[rawproto.Message], to *connect.ServerStream[rawproto.Message]) error {
				served := &servedStream{ctx: withMetadata(ctx, r.Header()), asked: r.Msg, to: to}
				return connectError(stream.Handler(each.server, served))
			}, connect.WithCodec(rawproto.Codec{}))
		}
	}
	return handlers
}

// isBrowserCall reports whether a request is a gRPC-Web or Connect call.
func isBrowserCall(r *http.Request) bool {
	kind := r.Header.Get("Content-Type")
	return strings.HasPrefix(kind, "application/grpc-web") || strings.HasPrefix(kind, "application/connect+") || kind == "application/proto" || r.URL.Query().Has("connect")
}

func withMetadata(ctx context.Context, header http.Header) context.Context {
	sent := metadata.MD{}
	for name, values := range header {
		sent.Set(name, values...)
	}
	return metadata.NewIncomingContext(ctx, sent)
}

func decoderOf(asked *rawproto.Message) func(any) error {
	return func(into any) error { return proto.Unmarshal(asked.Bytes, into.(proto.Message)) }
}

func connectError(err error) error {
	if err == nil {
		return nil
	}
	known := status.Convert(err)
	if known.Code() == codes.OK {
		return nil
	}
	return connect.NewError(connect.Code(known.Code()), known.Err())
}

// servedStream lets a service of grpc-go answer a stream of connect-go.
type servedStream struct {
	grpc.ServerStream
	ctx   context.Context
	asked *rawproto.Message
	to    *connect.ServerStream[rawproto.Message]
}

func (s *servedStream) Context() context.Context { return s.ctx }

func (s *servedStream) RecvMsg(into any) error { return decoderOf(s.asked)(into) }

func (s *servedStream) SendMsg(message any) error {
	return s.to.Send(&rawproto.Message{Of: message.(proto.Message)})
}
