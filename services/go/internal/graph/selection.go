package graph

import (
	"context"
	"slices"

	"github.com/99designs/gqlgen/graphql"
)

// selection has all fields with the same name that a query selects in one place.
type selection struct {
	operation *graphql.OperationContext
	nodes     []graphql.CollectedField
}

// entities are the types that a query's fragments may have, in addition to the type of a field.
var entities = []string{"Query", "Node", "Product", "Review", "User", "Order", "OrderLine", "Payment"}

// selectAt returns the fields that the query selects at the end of a path from the current field; an empty path is the
// current field.
func selectAt(ctx context.Context, path ...string) selection {
	current := graphql.GetFieldContext(ctx).Field
	return selection{graphql.GetOperationContext(ctx), []graphql.CollectedField{current}}.inside(path...)
}

func (s selection) inside(path ...string) selection {
	for _, name := range path {
		var next []graphql.CollectedField
		s.each(func(field graphql.CollectedField) {
			if field.Name == name {
				next = append(next, field)
			}
		})
		s.nodes = next
	}
	return s
}

// Asks tells whether the query selects this field inside the current field.
func Asks(ctx context.Context, name string) bool { return len(selectAt(ctx, name).nodes) > 0 }

// only tells whether the query selects only these fields.
func (s selection) only(known []string) bool {
	isOnly := true
	s.each(func(field graphql.CollectedField) { isOnly = isOnly && slices.Contains(known, field.Name) })
	return isOnly
}

// firsts returns the distinct values of the argument `first`.
func (s selection) firsts() []int32 {
	var values []int32
	for _, node := range s.nodes {
		if first, isNumber := node.ArgumentMap(s.operation.Variables)["first"].(int64); isNumber {
			if value := int32(first); int64(value) == first && !slices.Contains(values, value) {
				values = append(values, value)
			}
		}
	}
	return values
}

// each visits the fields inside the selection, including fields in fragments on any entity.
func (s selection) each(visit func(graphql.CollectedField)) {
	for _, node := range s.nodes {
		types := entities
		if node.Definition != nil { // otherwise it is the operation itself
			types = append(slices.Clip(types), node.Definition.Type.Name())
		}
		for _, field := range graphql.CollectFields(s.operation, node.Selections, types) {
			visit(field)
		}
	}
}
