package gateway

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"hopwise/services/internal/graph"
	"hopwise/services/internal/guard"
	"hopwise/services/internal/web"
)

const maxOperationName = 100 // characters, in a span

// MutateOperationContext checks an operation with its variables.
func (d *documents) MutateOperationContext(ctx context.Context, asked *graphql.OperationContext) *gqlerror.Error {
	x, operation := exchangeOf(ctx), asked.Operation
	if operation.Operation == ast.Mutation {
		if x.request.Method == http.MethodGet {
			x.refusal = web.RefuseMethod("mutations need POST", http.MethodPost)
			return presentFailure(x.refusal.Failure)
		}
		x.stay() // it must not be left half done
	}
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(attribute.String("graphql.operation.type", string(operation.Operation)))
		if name := operation.Name; name != "" {
			span.SetAttributes(attribute.String("graphql.operation.name", name[:min(len(name), maxOperationName)]))
		}
	}
	x.cost = costOf(d.schema, operation, asked.Variables)
	return gqlerror.WrapIfUnwrapped(checkCost(ctx, operation, x.cost))
}

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

// InterceptOperation ends an execution at the operation's cost and at the deadline. It answers an operation that was cut
// off with the reason alone.
func (d *documents) InterceptOperation(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	x := exchangeOf(ctx)
	ctx, end := context.WithCancelCause(ctx)
	ctx, span := d.tracer.Start(ctx, "graphql.execute")
	counted := &execution{limit: int64(x.cost), end: end}
	counted.left.Store(counted.limit)
	graphql.GetOperationContext(ctx).ResolverMiddleware = counted.resolve
	handle := next(ctx)
	return func(ctx context.Context) *graphql.Response {
		defer end(nil)
		defer span.End()
		response := handle(ctx)
		if response == nil || counted.isCut.Load() {
			response = &graphql.Response{Errors: gqlerror.List{presentFailure(guard.ClientError(ctx, context.Cause(ctx)))}}
		}
		return response
	}
}

// execution counts the fields of an answer during its execution. Each list counts its items' fields before they are
// resolved. Once the context has ended, lists are empty, so that the rest of the answer costs little.
type execution struct {
	limit int64
	left  atomic.Int64
	isCut atomic.Bool
	end   context.CancelCauseFunc // of the execution's context
}

// resolve is the middleware of all fields.
func (e *execution) resolve(ctx context.Context, next graphql.Resolver) (any, error) {
	result, err := next(ctx)
	list := reflect.ValueOf(result)
	if err != nil || list.Kind() != reflect.Slice {
		return result, err
	}
	field := graphql.GetFieldContext(ctx).Field
	if !returnsList(field.Field) || strings.HasPrefix(field.ObjectDefinition.Name, "__") {
		return result, err
	}
	if fields := list.Len() * max(fieldsOf(field.Selections), 1); e.left.Add(-int64(fields)) < 0 {
		e.end(exhausted("the answer has more than %d fields; ask for fewer items", e.limit))
	}
	if ctx.Err() != nil {
		e.isCut.Store(true)
		return reflect.MakeSlice(list.Type(), 0, 0).Interface(), nil
	}
	return result, nil
}

// fieldsOf counts the fields of an item, without the fields inside lists: resolving a list counts these.
func fieldsOf(item ast.SelectionSet) int {
	fragments := make(map[spread]int)
	var count func(*ast.Field, int) int
	count = func(field *ast.Field, _ int) int {
		if returnsList(field) {
			return 1
		}
		return 1 + sum(field.SelectionSet, 0, fragments, count)
	}
	return sum(item, 0, fragments, count)
}

func returnsList(field *ast.Field) bool {
	return field.Definition != nil && field.Definition.Type.Elem != nil
}
