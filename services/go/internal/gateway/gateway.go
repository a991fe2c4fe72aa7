// Package gateway is the GraphQL gateway: one schema over the services, over HTTP.
package gateway

import (
	"compress/gzip"
	"context"
	"net/http"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/klauspost/compress/gzhttp"
	"github.com/vektah/gqlparser/v2/gqlerror"
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

// Gateway reads requests within their limits, and has gqlgen's executor answer them.
type Gateway struct {
	services      *peer.Services
	authenticator *access.Authenticator
	config        config.Config
	tracer        trace.Tracer
	executor      *executor.Executor
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
		services: s, authenticator: a, config: c, tracer: tracer, executor: newExecutor(tracer), compressed: compressed,
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

// newExecutor returns gqlgen's executor with the limits of documents and executions.
func newExecutor(tracer trace.Tracer) *executor.Executor {
	executable := schema.NewExecutableSchema(schema.Config{Resolvers: resolvers{}})
	delete(executable.Schema().Directives, "defer") // answers come in one piece
	documents := newDocuments(executable.Schema(), tracer)
	e := executor.New(executable)
	e.SetQueryCache(documents)
	e.Use(documents)
	e.Use(extension.Introspection{})
	e.Use(limits{executable.Schema(), tracer})
	e.SetErrorPresenter(present)
	e.SetRecoverFunc(func(_ context.Context, panicked any) error { return guard.Recovered(panicked) })
	return e
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
		g.answer(ctx, x)
	})).ServeHTTP(w, r)
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("http.request.method", r.Method), attribute.String("http.route", route),
			attribute.String("url.path", r.URL.Path), attribute.String("url.scheme", "http"),
			attribute.String("network.protocol.version", strings.TrimPrefix(r.Proto, "HTTP/")),
			attribute.Int("http.response.status_code", x.status))
		if x.code != "" {
			span.SetAttributes(attribute.String("error.type", x.code))
		}
		if x.isServerFault() {
			span.SetStatus(codes.Error, "")
		}
	}
}

func (g *Gateway) answer(ctx context.Context, x *exchange) {
	r := x.request
	wait := guard.EdgeWait(r.Header.Get(guard.DeadlineHeader))
	params, refusal := receive(x.ResponseWriter, r, wait) // which http.ResponseController needs
	if refusal != nil {
		x.refuse(refusal)
		return
	}
	md := make(metadata.MD, len(r.Header))
	for name, values := range r.Header {
		md.Append(name, values...)
	}
	if err := g.authenticator.RequireOrigin(md); err != nil {
		x.refuse(refusedWith(http.StatusUnauthorized, guard.Told(ctx, err)))
		return
	}
	ctx, cancel := guard.Limited(ctx, wait)
	defer cancel()
	ctx = graph.WithRequest(ctx, g.services, func() (access.Caller, error) {
		return g.authenticator.Authenticate(r.Header.Get("Authorization"))
	})
	x.send(g.execute(context.WithValue(ctx, exchangeKey{}, x), x, params))
}

// execute has gqlgen run a request. gqlgen's transports would do that for more CPU, and with other statuses and errors.
func (g *Gateway) execute(ctx context.Context, x *exchange, params *graphql.RawParams) (response *graphql.Response) {
	defer func() {
		if panicked := recover(); panicked != nil {
			x.status = http.StatusInternalServerError
			response = &graphql.Response{Errors: gqlerror.List{present(ctx, guard.Recovered(panicked))}}
		}
	}()
	ctx = graphql.StartOperationTrace(ctx)
	operation, mistakes := g.executor.CreateOperationContext(ctx, params)
	if len(mistakes) > 0 {
		response = g.executor.DispatchError(graphql.WithOperationContext(ctx, operation), mistakes)
		switch response.Errors[0].Extensions["code"] {
		case persistedQueryNotFound, string(shoperr.DeadlineExceeded):
		default:
			x.status = http.StatusBadRequest
		}
		return response
	}
	respond, ctx := g.executor.DispatchOperation(ctx, operation)
	return respond(ctx)
}
