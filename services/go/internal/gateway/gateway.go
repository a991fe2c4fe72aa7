// Package gateway is the GraphQL gateway: one schema over the services, over HTTP.
package gateway

import (
	"compress/gzip"
	"context"
	"net/http"
	"strings"

	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/klauspost/compress/gzhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"

	"hopwise/services/internal/access"
	"hopwise/services/internal/config"
	"hopwise/services/internal/graph"
	"hopwise/services/internal/guard"
	"hopwise/services/internal/peer"
	"hopwise/services/internal/shoperr"
	"hopwise/services/internal/stubs/schema"
)

const (
	route   = "/graphql"
	minGzip = 1_024 // bytes of an answer
)

// Gateway reads requests within their limits, and has gqlgen's server answer them.
type Gateway struct {
	services      *peer.Services
	authenticator *access.Authenticator
	config        config.Config
	tracer        trace.Tracer
	server        *handler.Server
	compressed    func(http.Handler) http.HandlerFunc
}

// New returns the gateway over the services.
func New(s *peer.Services, a *access.Authenticator, c config.Config, tracing trace.TracerProvider) http.Handler {
	compressed, err := gzhttp.NewWrapper(gzhttp.MinSize(minGzip), gzhttp.CompressionLevel(gzip.BestSpeed))
	if err != nil { // only for an unknown option
		panic(err)
	}
	tracer := tracing.Tracer("hopwise/services")
	g := &Gateway{
		services: s, authenticator: a, config: c, tracer: tracer, server: newServer(tracer), compressed: compressed,
	}
	mux := http.NewServeMux()
	mux.HandleFunc(route, g.traced)
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		path := []rune(r.URL.Path)
		newExchange(w, r).refuse(refused(http.StatusNotFound, shoperr.NotFound, "",
			"there is nothing at %s; POST %s answers queries", string(path[:min(len(path), 100)]), route))
	})
	return mux
}

// newServer returns gqlgen's server with the limits of documents and executions.
func newServer(tracer trace.Tracer) *handler.Server {
	// What is wrong with a document gets the status 400 with application/graphql-response+json.
	for _, code := range []shoperr.Code{shoperr.InvalidArgument, shoperr.ResourceExhausted} {
		errcode.RegisterErrorType(string(code), errcode.KindProtocol)
	}
	executable := schema.NewExecutableSchema(schema.Config{Resolvers: resolvers{}})
	delete(executable.Schema().Directives, "defer") // answers come in one piece
	documents := newDocuments(executable.Schema(), tracer)
	server := handler.New(executable)
	server.AddTransport(transport.GET{})
	server.AddTransport(transport.POST{})
	server.SetQueryCache(documents)
	server.Use(documents)
	server.Use(extension.Introspection{})
	server.Use(limits{executable.Schema(), tracer})
	server.SetErrorPresenter(present)
	server.SetRecoverFunc(func(_ context.Context, panicked any) error { return guard.Recovered(panicked) })
	return server
}

// traced leaves a SERVER span of requests whose caller samples them.
func (g *Gateway) traced(w http.ResponseWriter, r *http.Request) {
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := g.tracer.Start(ctx, r.Method+" "+route, trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()
	if g.config.Delay > 0 {
		guard.Pause(ctx, g.config.Delay)
	}
	var x *exchange
	g.compressed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x = newExchange(w, r)
		g.answer(ctx, x, r)
	})).ServeHTTP(w, r)
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("http.request.method", r.Method), attribute.String("http.route", route),
			attribute.String("url.path", r.URL.Path), attribute.String("url.scheme", "http"),
			attribute.String("network.protocol.version", strings.TrimPrefix(r.Proto, "HTTP/")),
			attribute.Int("http.response.status_code", x.status))
		if x.code != "" {
			span.SetAttributes(attribute.String("error.type", string(x.code)))
			if x.code.IsServerFault() || x.status >= http.StatusInternalServerError {
				span.SetStatus(codes.Error, "")
			}
		}
	}
}

func (g *Gateway) answer(ctx context.Context, x *exchange, r *http.Request) {
	wait := guard.EdgeWait(r.Header.Get(guard.DeadlineHeader))
	if refusal := receive(x, r, wait); refusal != nil {
		x.refuse(refusal)
		return
	}
	md := make(metadata.MD, len(r.Header))
	for name, values := range r.Header {
		md.Append(name, values...)
	}
	if err := g.authenticator.RequireOrigin(md); err != nil {
		x.refuse(&refusal{failure: guard.Told(ctx, err), status: http.StatusUnauthorized})
		return
	}
	ctx, cancel := guard.Limited(ctx, wait)
	defer cancel()
	ctx = graph.WithRequest(ctx, g.services, func() (access.Caller, error) {
		return g.authenticator.Authenticate(r.Header.Get("Authorization"))
	})
	g.server.ServeHTTP(x, r.WithContext(context.WithValue(ctx, exchangeKey{}, x)))
}
