package guard

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"hopwise/services/internal/shoperr"
)

// frame is a message before it is decoded: gRPC itself would report invalid bytes as a server error.
type frame []byte

// codec passes frames unchanged, and leaves other values to protobuf's codec.
type codec struct{ encoding.CodecV2 }

// Codec returns the codec for servers with guarded methods.
func Codec() encoding.CodecV2 { return codec{encoding.GetCodecV2("proto")} }

func (c codec) Unmarshal(data mem.BufferSlice, value any) error {
	if raw, isFrame := value.(*frame); isFrame {
		*raw = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, value)
}

type receiveKey struct{}

// Decoding returns a guarded service's description whose unary methods leave each message to the guard. The guard
// decodes it once the caller is admitted, and reports invalid bytes as the caller's error.
func Decoding(described grpc.ServiceDesc) *grpc.ServiceDesc {
	methods := make([]grpc.MethodDesc, len(described.Methods))
	for index, method := range described.Methods {
		handler := method.Handler
		method.Handler = func(
			server any, ctx context.Context, receive func(any) error, interceptor grpc.UnaryServerInterceptor,
		) (any, error) {
			ctx = context.WithValue(ctx, receiveKey{}, receive)
			return handler(server, ctx, func(any) error { return nil }, interceptor)
		}
		methods[index] = method
	}
	described.Methods = methods
	return &described
}

func decode(receive func(any) error, message any) error {
	var raw frame
	if err := receive(&raw); err != nil {
		return err
	}
	if proto.Unmarshal(raw, message.(proto.Message)) != nil {
		return shoperr.Invalid("", "the request is not a message of this method's type")
	}
	return nil
}
