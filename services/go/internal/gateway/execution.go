package gateway

import (
	"context"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// execution counts the fields of an answer while it is made. Each list counts those of its items before these are resolved;
// once the context has ended, lists are empty, so that the rest of the answer costs little.
type execution struct {
	limit int64
	left  atomic.Int64
	isCut atomic.Bool
	end   context.CancelCauseFunc // of the execution's context
}

func newExecution(limit float64, end context.CancelCauseFunc) *execution {
	e := &execution{limit: int64(limit), end: end}
	e.left.Store(e.limit)
	return e
}

// resolve is the middleware of all fields.
func (e *execution) resolve(ctx context.Context, next graphql.Resolver) (any, error) {
	result, err := next(ctx)
	field := graphql.GetFieldContext(ctx).Field
	if err != nil || result == nil || !returnsList(field.Field) || strings.HasPrefix(field.ObjectDefinition.Name, "__") {
		return result, err
	}
	list := reflect.ValueOf(result)
	if fields := list.Len() * max(fieldsOf(field.Selections, make(map[string]int)), 1); e.left.Add(-int64(fields)) < 0 {
		e.end(exhausted("the answer has more than %d fields; ask for fewer items", e.limit))
	}
	if ctx.Err() != nil {
		e.isCut.Store(true)
		return reflect.MakeSlice(list.Type(), 0, 0).Interface(), nil
	}
	return result, nil
}

// fieldsOf counts the fields of an item down to lists, which are counted when they are met.
func fieldsOf(set ast.SelectionSet, fragments map[string]int) int {
	total := 0
	for _, one := range set {
		switch one := one.(type) {
		case *ast.Field:
			total++
			if !returnsList(one) {
				total += fieldsOf(one.SelectionSet, fragments)
			}
		case *ast.InlineFragment:
			total += fieldsOf(one.SelectionSet, fragments)
		case *ast.FragmentSpread:
			fields, isKnown := fragments[one.Name]
			if !isKnown {
				fields = fieldsOf(one.Definition.SelectionSet, fragments)
				fragments[one.Name] = fields
			}
			total += fields
		}
	}
	return total
}

func returnsList(field *ast.Field) bool {
	return field.Definition != nil && field.Definition.Type.Elem != nil
}
