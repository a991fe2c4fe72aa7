package guard

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"hopwise/proto/stubs/productv1"
	"hopwise/proto/stubs/typev1"
	"hopwise/services/internal/access"
	"hopwise/services/internal/config"
	"hopwise/services/internal/shoperr"
)

const method = "/shop.product.v1.ProductService/GetProduct"

func guarding(t *testing.T) *Guard {
	t.Helper()
	authenticator, err := access.New(config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &Guard{Authenticator: authenticator, Rules: access.Rules{method: {Access: typev1.Access_ACCESS_INTERNAL}}}
}

func call(ctx context.Context, g *Guard, method string, work func(context.Context) error) *status.Status {
	_, err := g.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: method}, func(ctx context.Context, _ any) (any, error) {
		return nil, work(ctx)
	})
	return status.Convert(err)
}

func reason(s *status.Status) string {
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.Reason
		}
	}
	return ""
}

type sizes struct{ raw, packed atomic.Int64 }

func (s *sizes) HandleRPC(_ context.Context, event stats.RPCStats) {
	if payload, ok := event.(*stats.InPayload); ok {
		s.raw.Store(int64(payload.Length))
		s.packed.Store(int64(payload.CompressedLength))
	}
}
func (*sizes) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*sizes) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*sizes) HandleConn(context.Context, stats.ConnStats)                       {}

func TestSettingTurnsCompressionOn(t *testing.T) {
	for _, compresses := range []bool{false, true} {
		g := guarding(t)
		g.Compresses = compresses
		answer := func(_ any, stream grpc.ServerStream) error {
			return stream.SendMsg(wrapperspb.String(strings.Repeat("a", 4096)))
		}
		server := grpc.NewServer(grpc.StreamInterceptor(g.Stream), grpc.UnknownServiceHandler(answer))
		defer server.Stop()
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = server.Serve(listener) }()
		var got sizes
		client, err := grpc.NewClient(
			listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithStatsHandler(&got))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if err := client.Invoke(t.Context(), method, wrapperspb.String(""), wrapperspb.String("")); err != nil {
			t.Fatal(err)
		}
		if packed := got.packed.Load() < got.raw.Load(); packed != compresses {
			t.Errorf("with %v, %d bytes for %d", compresses, got.packed.Load(), got.raw.Load())
		}
	}
}

func TestInternalDetailsAreHidden(t *testing.T) {
	for name, work := range map[string]func(context.Context) error{
		"an error": func(context.Context) error { return errors.New("the password is secret") },
		"a panic":  func(context.Context) error { panic("the password is secret") },
	} {
		t.Run(name, func(t *testing.T) {
			got := call(t.Context(), guarding(t), method, work)
			if got.Code() != codes.Internal || got.Message() != "internal error" || reason(got) != "INTERNAL" {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestErrorsOfTheShopArriveUnchanged(t *testing.T) {
	got := call(t.Context(), guarding(t), method, func(context.Context) error { return shoperr.NoSuch("product", 7) })
	if got.Code() != codes.NotFound || got.Message() != "there is no product 7" || reason(got) != "NOT_FOUND" {
		t.Errorf("got %v", got)
	}
}

func TestOutsidersAreKeptOut(t *testing.T) {
	outside := metadata.NewIncomingContext(t.Context(), metadata.Pairs("x-hopwise-edge", ""))
	for path, want := range map[string]codes.Code{method: codes.PermissionDenied, "/grpc.health.v1.Health/Check": codes.OK} {
		if got := call(outside, guarding(t), path, func(context.Context) error { return nil }); got.Code() != want {
			t.Errorf("%s: got %v", path, got)
		}
	}
}

func TestAMessageIsDecodedOnlyForAnAdmittedCaller(t *testing.T) {
	g := guarding(t)
	get := Decoding(productv1.ProductService_ServiceDesc).Methods[0].Handler
	receive := func(message any) error {
		*message.(*frame) = frame{0xff}
		return nil
	}
	outside := metadata.NewIncomingContext(t.Context(), metadata.Pairs("x-hopwise-edge", ""))
	for ctx, want := range map[context.Context]codes.Code{outside: codes.PermissionDenied, t.Context(): codes.InvalidArgument} {
		if _, err := get(productv1.UnimplementedProductServiceServer{}, ctx, receive, g.Unary); status.Code(err) != want {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

func TestWorkEndsBeforeTheCallersDeadline(t *testing.T) {
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(DeadlineHeader, "100"))
	got := call(ctx, guarding(t), method, func(ctx context.Context) error {
		if deadline, has := ctx.Deadline(); !has || time.Until(deadline) > 95*time.Millisecond {
			t.Errorf("the deadline is %v", deadline)
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if got.Code() != codes.DeadlineExceeded || got.Message() != Over || reason(got) != "DEADLINE_EXCEEDED" {
		t.Errorf("got %v", got)
	}
}

func TestEdgeWait(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"1": time.Millisecond, "4750": 4750 * time.Millisecond,
		"0": defaultWait, "": defaultWait, "-1": defaultWait, "+5": defaultWait, "1e3": defaultWait, "99999999999": defaultWait,
	} {
		if got := EdgeWait(header); got != want {
			t.Errorf("%q: got %s, want %s", header, got, want)
		}
	}
}
