// Package gateway is the GraphQL gateway: one schema over the services, over HTTP.
package gateway

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/klauspost/compress/gzhttp"
	"github.com/vektah/gqlparser/v2/ast"
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
	route             = "/graphql"
	mediaJSON         = "application/json"
	mediaResponse     = "application/graphql-response+json"
	smallestGzip      = 1_024 // bytes of an answer
	mostOperationName = 100   // characters, in a span
)

// Gateway answers HTTP requests.
type Gateway struct {
	services      *peer.Services
	authenticator *access.Authenticator
	config        config.Config
	tracer        trace.Tracer
	schema        *ast.Schema
	executor      *executor.Executor
	documents     *documents
	compressed    func(http.Handler) http.HandlerFunc
}

// New returns the gateway over the services.
func New(s *peer.Services, a *access.Authenticator, c config.Config, tracing trace.TracerProvider) http.Handler {
	executable := schema.NewExecutableSchema(schema.Config{Resolvers: resolvers{}})
	delete(executable.Schema().Directives, "defer") // answers come in one piece
	tracer := tracing.Tracer("hopwise/services")
	compressed, err := gzhttp.NewWrapper(gzhttp.MinSize(smallestGzip), gzhttp.CompressionLevel(gzip.BestSpeed))
	if err != nil { // only for an option that is none
		panic(err)
	}
	g := &Gateway{
		services: s, authenticator: a, config: c, tracer: tracer, schema: executable.Schema(),
		executor: executor.New(executable), documents: newDocuments(executable.Schema(), tracer), compressed: compressed,
	}
	g.executor.SetErrorPresenter(present)
	g.executor.SetRecoverFunc(recovered)
	mux := http.NewServeMux()
	mux.HandleFunc(route, g.traced)
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer{status: http.StatusOK, media: "text/plain; charset=utf-8", body: []byte("ok\n")}.send(w)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		path := []rune(r.URL.Path)
		nothing := shoperr.New(shoperr.NotFound, "",
			"there is nothing at %s; POST %s answers queries", string(path[:min(len(path), 100)]), route)
		answer{status: http.StatusNotFound, media: mediaJSON, body: body(nil, shown(nothing))}.send(w)
	})
	return mux
}

// traced leaves a SERVER span of requests whose caller samples them.
func (g *Gateway) traced(w http.ResponseWriter, r *http.Request) {
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := g.tracer.Start(ctx, r.Method+" "+route, trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()
	if g.config.Delay > 0 {
		guard.Pause(ctx, g.config.Delay)
	}
	var answered answer
	g.compressed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answered = g.answer(ctx, w, r)
		answered.send(w)
	})).ServeHTTP(w, r)
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("http.request.method", r.Method), attribute.String("http.route", route),
			attribute.String("url.path", r.URL.Path), attribute.String("url.scheme", "http"),
			attribute.String("network.protocol.version", strings.TrimPrefix(r.Proto, "HTTP/")),
			attribute.Int("http.response.status_code", answered.status))
		if code := answered.code; code != "" {
			span.SetAttributes(attribute.String("error.type", string(code)))
			if code.IsServerFault() || answered.status >= http.StatusInternalServerError {
				span.SetStatus(codes.Error, "")
			}
		}
	}
}

// answer is what a client gets.
type answer struct {
	status  int
	media   string
	body    []byte
	headers [][2]string
	code    shoperr.Code // of the first error
}

func (g *Gateway) answer(ctx context.Context, w http.ResponseWriter, r *http.Request) answer {
	made := answer{media: mediaJSON}
	if strings.Contains(r.Header.Get("Accept"), mediaResponse) {
		made.media = mediaResponse
	}
	wait := guard.EdgeWait(r.Header.Get(guard.DeadlineHeader))
	asked, err := received(w, r, wait)
	if err == nil {
		err = g.originOf(r)
	}
	var data []byte
	isPublic := false
	if err == nil {
		limited, cancel := guard.Limited(ctx, wait)
		defer cancel()
		err = guard.Recovering(func() (err error) {
			data, isPublic, err = g.run(limited, asked, r)
			return err
		})
	}
	var errs gqlerror.List
	made.status, errs = outcome(ctx, data, err)
	if len(errs) > 0 {
		made.code, _ = errs[0].Extensions["code"].(shoperr.Code)
	}
	made.body = body(data, errs...)
	refusal := new(refusal)
	isRefused := errors.As(err, &refusal)
	if r.Method == http.MethodGet && !isRefused {
		made.headers = append(made.headers, caching(isPublic && err == nil)...)
	}
	if isRefused {
		if refusal.header[0] != "" {
			made.headers = append(made.headers, refusal.header)
		}
	} else if made.media == mediaJSON && made.status != http.StatusInternalServerError {
		made.status = http.StatusOK // which its clients expect for whatever was a GraphQL request
	}
	return made
}

// caching says who may keep an answer to GET. Its media type depends on Accept.
func caching(isPublic bool) [][2]string {
	if isPublic {
		return [][2]string{{"Cache-Control", "public, max-age=60"}, {"Vary", "accept, accept-encoding"}}
	}
	return [][2]string{{"Cache-Control", "private, no-store"}, {"Vary", "accept, accept-encoding, authorization"}}
}

// originOf refuses a request of which it is not known where it comes from.
func (g *Gateway) originOf(r *http.Request) error {
	md := make(metadata.MD, len(r.Header))
	for name, values := range r.Header {
		md.Append(name, values...)
	}
	if err := g.authenticator.RequireOrigin(md); err != nil {
		return &refusal{failure: guard.Told(r.Context(), err), status: http.StatusUnauthorized}
	}
	return nil
}

// outcome returns the status of application/graphql-response+json, and the errors that clients see.
func outcome(ctx context.Context, data []byte, err error) (int, gqlerror.List) {
	refusal, mistakes, mistake := new(refusal), gqlerror.List(nil), new(gqlerror.Error)
	switch {
	case err == nil:
		return http.StatusOK, nil
	case errors.As(err, &refusal):
		return refusal.status, gqlerror.List{shown(refusal.failure)}
	case data != nil && errors.As(err, &mistakes): // of resolvers
		return http.StatusOK, mistakes
	case errors.As(err, &mistakes):
		for index := range mistakes {
			mistakes[index] = mistaken(mistakes[index])
		}
		return http.StatusBadRequest, mistakes
	case errors.As(err, &mistake):
		return http.StatusOK, gqlerror.List{mistake}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return http.StatusOK, gqlerror.List{shown(shoperr.New(shoperr.DeadlineExceeded, "", guard.Over))}
	}
	failure := guard.Told(ctx, err)
	if failure.Code == shoperr.Internal {
		return http.StatusInternalServerError, gqlerror.List{shown(failure)}
	}
	return http.StatusBadRequest, gqlerror.List{shown(failure)}
}

// run executes a request, and returns its data as JSON, nil if it did not even begin, and whether its document is public.
func (g *Gateway) run(ctx context.Context, asked *request, r *http.Request) (data []byte, isPublic bool, err error) {
	authenticate := func() (access.Caller, error) { return g.authenticator.Authenticate(r.Header.Get("Authorization")) }
	ctx = graph.WithRequest(ctx, g.services, authenticate)
	document, err := g.documents.find(ctx, asked.query, asked.sha256)
	if err != nil {
		return nil, false, err
	}
	operation, err := operationOf(document.QueryDocument, asked.operationName)
	if err != nil {
		return nil, false, err
	}
	variables, mistakes := coerced(g.schema, operation, asked.variables)
	if len(mistakes) > 0 {
		return nil, false, mistakes
	}
	cost := costOf(g.schema, operation, variables)
	if err := checkCost(ctx, operation, cost); err != nil {
		return nil, false, err
	}
	if r.Method == http.MethodGet && operation.Operation == ast.Mutation {
		return nil, false, badMethod("mutations need POST", http.MethodPost)
	}
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(attribute.String("graphql.operation.type", string(operation.Operation)))
		if name := operation.Name; name != "" {
			span.SetAttributes(attribute.String("graphql.operation.name", name[:min(len(name), mostOperationName)]))
		}
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	counted := newExecution(cost, end)
	data, err = g.execute(ctx, &graphql.OperationContext{
		OperationName: asked.operationName, Variables: variables, Doc: document.QueryDocument, Operation: operation,
		RecoverFunc:            recovered,
		ResolverMiddleware:     counted.resolve,
		RootResolverMiddleware: func(ctx context.Context, next graphql.RootResolver) graphql.Marshaler { return next(ctx) },
	})
	if counted.isCut.Load() {
		return nil, false, context.Cause(ctx)
	}
	return data, document.isPublic, err
}

func (g *Gateway) execute(ctx context.Context, operation *graphql.OperationContext) ([]byte, error) {
	ctx, span := g.tracer.Start(ctx, "graphql.execute")
	defer span.End()
	handle, ctx := g.executor.DispatchOperation(ctx, operation)
	response := handle(ctx)
	if response == nil {
		return nil, ctx.Err()
	}
	if len(response.Errors) > 0 {
		return response.Data, once(response.Errors)
	}
	return response.Data, nil
}

func recovered(_ context.Context, panicked any) error { return guard.Recovered(panicked) }

func checkCost(ctx context.Context, operation *ast.OperationDefinition, cost float64) error {
	isPartner := false
	if cost > maxCost {
		caller, err := graph.Of(ctx).Caller()
		isPartner = err == nil && caller.IsPartner()
	}
	if limit := limitOf(operation, isPartner); cost > limit {
		return exhausted("the operation has a cost of %.0f; the limit is %.0f; ask for fewer items (`first`) or fields", cost, limit)
	}
	return nil
}

// body returns the JSON of an answer.
func body(data []byte, errs ...*gqlerror.Error) []byte {
	if len(errs) == 0 {
		return append(append([]byte(`{"data":`), data...), '}')
	}
	text, err := json.Marshal(errs)
	if err != nil { // only for values that JSON does not have
		panic(err)
	}
	text = append([]byte(`{"errors":`), text...)
	if data != nil {
		text = append(append(text, `,"data":`...), data...)
	}
	return append(text, '}')
}

func (a answer) send(w http.ResponseWriter) {
	w.Header().Set("Content-Type", a.media)
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.Header().Set("Cache-Control", "no-store")
	for _, header := range a.headers {
		w.Header().Set(header[0], header[1])
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}
