// Package peer connects to the services that a program calls over gRPC.
package peer

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/dns"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	_ "google.golang.org/grpc/health" // replicas get calls as long as their health checks succeed

	"hopwise/proto/stubs/orderv1"
	"hopwise/proto/stubs/paymentv1"
	"hopwise/proto/stubs/productv1"
	"hopwise/proto/stubs/userv1"
	"hopwise/services/internal/config"
	"hopwise/services/internal/shoperr"
	"hopwise/services/internal/telemetry"
)

const (
	maxReceived  = 16 << 20 // bytes of a message
	pingEvery    = 20 * time.Second
	pingLimit    = 5 * time.Second
	firstPause   = 100 * time.Millisecond // before a lost connection is opened again
	maxPause     = time.Second
	lookUpEvery  = time.Second // interval between lookups of a name, whose addresses may change
	noSideEffect = descriptorpb.MethodOptions_NO_SIDE_EFFECTS
)

// Services has a client for each service.
type Services struct {
	Product productv1.ProductServiceClient
	Order   orderv1.OrderServiceClient
	User    userv1.UserServiceClient
	Payment paymentv1.PaymentServiceClient
}

// Connect prepares to call the services; the first call to a service opens the connection.
func Connect(peers map[string]config.Peer, tracing *telemetry.Tracing) (*Services, error) {
	dns.SetMinResolutionInterval(lookUpEvery)
	dialer := dialer{peers: peers, tracing: tracing}
	services := &Services{
		Product: productv1.NewProductServiceClient(dialer.to("product", productv1.File_shop_product_v1_product_proto)),
		Order:   orderv1.NewOrderServiceClient(dialer.to("order", orderv1.File_shop_order_v1_order_proto)),
		User:    userv1.NewUserServiceClient(dialer.to("user", userv1.File_shop_user_v1_user_proto)),
		Payment: paymentv1.NewPaymentServiceClient(dialer.to("payment", paymentv1.File_shop_payment_v1_payment_proto)),
	}
	return services, dialer.err
}

// dialer makes the clients' connections, and keeps the first error.
type dialer struct {
	peers   map[string]config.Peer
	tracing *telemetry.Tracing
	err     error
}

func (d *dialer) to(name string, contract protoreflect.FileDescriptor) *grpc.ClientConn {
	peer := d.peers[name]
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStatsHandler(otelgrpc.NewClientHandler(
			otelgrpc.WithTracerProvider(d.tracing), otelgrpc.WithPropagators(propagation.TraceContext{}))),
		grpc.WithUnaryInterceptor(func(
			ctx context.Context, method string, request, answer any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption,
		) error {
			return Restore(invoke(ctx, method, request, answer, c, o...), name)
		}),
		grpc.WithDefaultServiceConfig(serviceConfig(contract.Services().Get(0), peer)),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReceived)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingEvery, Timeout: pingLimit, PermitWithoutStream: true}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: firstPause, Multiplier: 1.6, Jitter: 0.2, MaxDelay: maxPause},
			MinConnectTimeout: maxPause,
		}),
		grpc.WithNoProxy(),
		grpc.WithAuthority(peer.Addresses[0]),
	}
	target := "dns:///" + peer.Addresses[0] // dns accepts an IP address too
	if peer.Socket != "" {
		target = "unix:" + peer.Socket
	} else if len(peer.Addresses) > 1 {
		replicas := manual.NewBuilderWithScheme("replicas")
		state := resolver.State{}
		for _, address := range peer.Addresses {
			state.Addresses = append(state.Addresses, resolver.Address{Addr: address})
		}
		replicas.InitialState(state)
		target, options = "replicas:///"+name, append(options, grpc.WithResolvers(replicas))
	}
	connection, err := grpc.NewClient(target, options...)
	if err != nil && d.err == nil {
		d.err = err
	}
	return connection
}

// serviceConfig returns gRPC's service config: retries of read-only calls, and load balancing over replicas.
func serviceConfig(service protoreflect.ServiceDescriptor, peer config.Peer) string {
	type object = map[string]any
	var reads []object
	for index := range service.Methods().Len() {
		method := service.Methods().Get(index)
		if method.Options().(*descriptorpb.MethodOptions).GetIdempotencyLevel() == noSideEffect {
			reads = append(reads, object{"service": service.FullName(), "method": method.Name()})
		}
	}
	retries := object{
		"maxAttempts": 3, "initialBackoff": "0.05s", "maxBackoff": "0.4s", "backoffMultiplier": 2,
		"retryableStatusCodes": []string{"UNAVAILABLE"},
	}
	settings := object{
		"methodConfig":    []object{{"name": reads, "retryPolicy": retries}},
		"retryThrottling": object{"maxTokens": 100, "tokenRatio": 0.1},
	}
	host, _, _ := net.SplitHostPort(peer.Addresses[0])
	if several := len(peer.Addresses) > 1; peer.Socket == "" && (several || net.ParseIP(host) == nil) { // a name may have several addresses
		settings["loadBalancingConfig"] = []object{{"round_robin": object{}}}
		if several {
			settings["healthCheckConfig"] = object{"serviceName": service.FullName()}
		}
	}
	text, err := json.Marshal(settings)
	if err != nil { // only for values that JSON cannot express
		panic(err)
	}
	return string(text)
}

// withoutDetails has the shop's code for each gRPC status that comes without the shop's details, from gRPC or a proxy.
var withoutDetails = map[codes.Code]shoperr.Code{
	codes.InvalidArgument:    shoperr.InvalidArgument,
	codes.OutOfRange:         shoperr.InvalidArgument,
	codes.Unauthenticated:    shoperr.Unauthenticated,
	codes.PermissionDenied:   shoperr.PermissionDenied,
	codes.NotFound:           shoperr.NotFound,
	codes.AlreadyExists:      shoperr.AlreadyExists,
	codes.FailedPrecondition: shoperr.FailedPrecondition,
	codes.Aborted:            shoperr.Conflict,
	codes.ResourceExhausted:  shoperr.ResourceExhausted,
}

// Restore returns the original error with which a service ended a call.
func Restore(err error, service string) error {
	if err == nil {
		return nil
	}
	ended := status.Convert(err)
	if last := interface{ GRPCStatus() *status.Status }(nil); errors.As(err, &last) {
		ended = last.GRPCStatus() // after retries, the last status has the service's message
	}
	info, retry := new(errdetails.ErrorInfo), new(errdetails.RetryInfo)
	for _, detail := range ended.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			info = detail
		case *errdetails.RetryInfo:
			retry = detail
		}
	}
	if info.Domain == shoperr.Domain {
		if info.Reason == string(shoperr.Internal) {
			slog.Error("a service failed", "service", service)
		}
		if code := shoperr.Code(info.Reason); code.IsKnown() {
			failure := shoperr.New(code, info.Metadata["field"], "%s", ended.Message())
			failure.Retry = retry.GetRetryDelay().AsDuration()
			return failure
		}
		return shoperr.Hidden()
	}
	switch code := ended.Code(); code {
	case codes.DeadlineExceeded:
		return shoperr.New(shoperr.DeadlineExceeded, "", "the %s service did not answer within the deadline of the request", service)
	case codes.Unavailable, codes.Canceled:
		return shoperr.New(shoperr.Unavailable, "", "the %s service does not answer; try again", service)
	default:
		if known, has := withoutDetails[code]; has {
			return shoperr.New(known, "", "%s", ended.Message())
		}
		slog.Error("a call failed", "service", service, "error", err)
		return shoperr.Hidden()
	}
}
