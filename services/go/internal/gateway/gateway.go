// Package gateway is the GraphQL gateway: one schema for all services, served over HTTP.
package gateway

import (
	"context"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"go.opentelemetry.io/otel/trace"

	"hopwise/services/internal/access"
	"hopwise/services/internal/config"
	"hopwise/services/internal/graph"
	"hopwise/services/internal/guard"
	"hopwise/services/internal/peer"
	"hopwise/services/internal/shoperr"
	"hopwise/services/internal/stubs/schema"
	"hopwise/services/internal/web"
)

const route = "/graphql"

// Gateway reads requests within their limits, and lets gqlgen's executor answer them.
type Gateway struct {
	services      *peer.Services
	authenticator *access.Authenticator
	config        config.Config
	tracer        trace.Tracer
	executor      *executor.Executor
	compressed    func(http.Handler) http.HandlerFunc
}

// New returns the gateway in front of the services.
func New(s *peer.Services, a *access.Authenticator, c config.Config, tracing trace.TracerProvider) http.Handler {
	tracer := tracing.Tracer("hopwise/services")
	g := &Gateway{
		services: s, authenticator: a, config: c, tracer: tracer, executor: newExecutor(tracer), compressed: web.Compress(""),
	}
	mux := http.NewServeMux()
	mux.HandleFunc(route, g.serveTraced)
	mux.HandleFunc("/healthz", web.AnswerHealth)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		newExchange(w, r).refuse(r.Context(), shoperr.New(shoperr.NotFound, "",
			"there is nothing at %s; POST %s answers queries", web.Cut(r.URL.Path, 100), route))
	})
	return mux
}

// newExecutor returns gqlgen's executor with the limits on documents and executions.
func newExecutor(tracer trace.Tracer) *executor.Executor {
	executable := schema.NewExecutableSchema(schema.Config{Resolvers: resolvers{}})
	delete(executable.Schema().Directives, "defer") // answers are not incremental
	documents := newDocuments(executable.Schema(), tracer)
	e := executor.New(executable)
	e.SetQueryCache(documents)
	e.Use(documents)
	e.Use(extension.Introspection{})
	e.SetErrorPresenter(present)
	e.SetRecoverFunc(func(_ context.Context, panicked any) error { return guard.PanicError(panicked) })
	return e
}

func (g *Gateway) serveTraced(w http.ResponseWriter, r *http.Request) {
	web.Trace(g.tracer, r, route, g.config.Delay, func(ctx context.Context) web.Outcome {
		var x *exchange
		g.compressed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			x = newExchange(w, r)
			g.answer(ctx, x)
		})).ServeHTTP(w, r)
		return web.Outcome{Status: x.status, ErrorType: x.code, IsServerFault: x.isServerFault()}
	})
}

func (g *Gateway) answer(ctx context.Context, x *exchange) {
	r := x.request
	params, err := receive(ctx, x.ResponseWriter, r) // http.ResponseController needs it
	if err == nil {
		err = g.authenticator.RequireOrigin(r.Header.Values)
	}
	if err != nil {
		x.refuse(ctx, err)
		return
	}
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	// The work ends when the client leaves, unless it is a mutation.
	x.stay = context.AfterFunc(r.Context(), cancel)
	defer x.stay()
	ctx = graph.WithRequest(ctx, g.services, func() (access.Caller, error) {
		return g.authenticator.Authenticate(r.Header.Get("Authorization"))
	})
	x.send(g.execute(context.WithValue(ctx, exchangeKey{}, x), x, params))
}

// execute lets gqlgen run a request. It does not use gqlgen's transports, which need more CPU time, and return other
// statuses and errors.
func (g *Gateway) execute(ctx context.Context, x *exchange, params *graphql.RawParams) (response *graphql.Response) {
	defer func() {
		if panicked := recover(); panicked != nil {
			x.status = http.StatusInternalServerError
			response = &graphql.Response{Errors: gqlerror.List{present(ctx, guard.PanicError(panicked))}}
		}
	}()
	ctx = graphql.StartOperationTrace(ctx)
	operation, mistakes := g.executor.CreateOperationContext(ctx, params)
	if len(mistakes) > 0 {
		mistakes = append(mistakes, x.mistakes...) // gqlgen's extensions can return only one error
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
