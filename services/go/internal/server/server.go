// Package server runs servers that stop gracefully: gRPC servers with health checks, reflection and traces, and HTTP
// servers.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"hopwise/services/internal/config"
	"hopwise/services/internal/guard"
	"hopwise/services/internal/telemetry"
)

const (
	grace   = 3 * time.Second  // for calls in flight when the process is stopped
	minPing = 10 * time.Second // about the interval at which callers ping idle connections

	readLimit  = 5 * time.Second  // for an HTTP request to arrive
	writeLimit = time.Minute      // for an HTTP client to take its answer, from the end of the request's header on
	idleLimit  = 75 * time.Second // for an unused HTTP connection
)

// Serve serves a service until the context ends; calls in flight then get some time to finish.
func Serve(
	ctx context.Context, a config.Address, age time.Duration, described grpc.ServiceDesc, service any, g *guard.Guard,
	tracing *telemetry.Tracing,
) error {
	listener, err := listen(a)
	if err != nil {
		return err
	}
	server := grpc.NewServer(
		grpc.StatsHandler(otelgrpc.NewServerHandler(
			otelgrpc.WithTracerProvider(tracing), otelgrpc.WithPropagators(propagation.TraceContext{}))),
		grpc.ForceServerCodecV2(guard.Codec()),
		grpc.UnaryInterceptor(g.Unary),
		grpc.StreamInterceptor(g.Stream),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: age}))
	server.RegisterService(guard.Decoding(described), service)
	checks := health.NewServer()
	checks.SetServingStatus(described.ServiceName, healthpb.HealthCheckResponse_SERVING)
	healthpb.RegisterHealthServer(server, checks)
	reflection.Register(server)
	stopped := context.AfterFunc(ctx, func() {
		// Callers that check health send no new calls while calls finish.
		checks.Shutdown()
		cut := time.AfterFunc(grace, server.Stop)
		defer cut.Stop()
		server.GracefulStop()
	})
	defer stopped()
	return server.Serve(listener)
}

// ServeHTTP serves HTTP/1.1, and HTTP/2 without TLS, until the context ends; requests in flight then get some time to
// finish.
func ServeHTTP(ctx context.Context, a config.Address, handler http.Handler) error {
	listener, err := listen(a)
	if err != nil {
		return err
	}
	server := newHTTP(handler)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if server.Shutdown(limited) != nil {
		_ = server.Close()
	}
	return nil
}

func newHTTP(handler http.Handler) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler: handler, Protocols: protocols, HTTP2: &http.HTTP2Config{WriteByteTimeout: writeLimit},
		ReadHeaderTimeout: grace, ReadTimeout: readLimit, WriteTimeout: writeLimit, IdleTimeout: idleLimit,
	}
}

// listen listens at an address, and replaces a stale socket file.
func listen(a config.Address) (net.Listener, error) {
	if a.Network == "unix" {
		connection, err := net.Dial(a.Network, a.Address)
		if err == nil {
			_ = connection.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) && isSocket(a.Address) {
			_ = os.Remove(a.Address)
		}
	}
	listener, err := net.Listen(a.Network, a.Address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; free it, or set another SHOP_PORT_BASE", a.Address, err)
	}
	return listener, nil
}

func isSocket(path string) bool {
	file, err := os.Stat(path)
	return err == nil && file.Mode()&os.ModeSocket != 0
}
