// Command minimal is a minimal starter for a product service: it reports that it is ready, exports spans, and stops
// gracefully on SIGTERM. Each method answers UNIMPLEMENTED until it is written. docs/system/your-component.md describes
// the rest.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	pb "hopwise/proto/stubs/productv1"
)

func main() {
	if os.Getenv("SHOP_CONTRACT") != "1" {
		fail(2, "SHOP_CONTRACT is %q; valid: 1", os.Getenv("SHOP_CONTRACT"))
	}
	if os.Getenv("SHOP_AWAIT_STDIN") == "on" {
		_, _ = io.Copy(io.Discard, os.Stdin) // when standard input ends, the database is ready
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	exporter, err := otlptracegrpc.New(ctx) // to OTEL_EXPORTER_OTLP_ENDPOINT
	if err != nil {
		fail(1, "OTEL_EXPORTER_OTLP_ENDPOINT: %v", err)
	}
	name := attribute.String("service.name", os.Getenv("SHOP_COMPONENT"))
	spans := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(resource.NewSchemaless(name)),
		trace.WithSampler(trace.ParentBased(trace.NeverSample())))
	listener, err := net.Listen("tcp", os.Getenv("SHOP_LISTEN_GRPC"))
	if err != nil {
		fail(1, "SHOP_LISTEN_GRPC: %v", err)
	}
	server, ready := grpc.NewServer(grpc.StatsHandler(otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(spans), otelgrpc.WithPropagators(propagation.TraceContext{})))), health.NewServer()
	healthpb.RegisterHealthServer(server, ready)
	pb.RegisterProductServiceServer(server, pb.UnimplementedProductServiceServer{})
	go func() { _ = server.Serve(listener) }()
	<-ctx.Done()
	ready.Shutdown()      // NOT_SERVING: no new calls arrive
	server.GracefulStop() // once the calls under way are answered
	_ = spans.Shutdown(context.Background())
}

func fail(code int, format string, values ...any) {
	fmt.Fprintf(os.Stderr, "error: "+format+"\n", values...)
	os.Exit(code)
}
