package graph

import (
	"context"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// selection is what a query asks for somewhere: fields of one name, as often as the query has them.
type selection struct {
	operation *graphql.OperationContext
	nodes     []*ast.Field
}

// asked returns the fields that the query asks for at the end of a path from the current one, which is that of an empty path.
func asked(ctx context.Context, path ...string) selection {
	field := graphql.GetFieldContext(ctx).Field
	return selection{graphql.GetOperationContext(ctx), []*ast.Field{{SelectionSet: field.Selections}}}.inside(path...)
}

func (s selection) inside(path ...string) selection {
	for _, name := range path {
		var next []*ast.Field
		s.each(func(field *ast.Field) {
			if field.Name == name {
				next = append(next, field)
			}
		})
		s.nodes = next
	}
	return s
}

// Asks tells whether the query asks for a field of the current one.
func Asks(ctx context.Context, name string) bool { return len(asked(ctx, name).nodes) > 0 }

// only tells whether the query asks for no other than these fields.
func (s selection) only(known []string) bool {
	isOnly := true
	s.each(func(field *ast.Field) { isOnly = isOnly && slices.Contains(known, field.Name) })
	return isOnly
}

// firsts returns the values of the argument `first`, each once.
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

// each visits the fields inside, those of each fragment once.
func (s selection) each(visit func(*ast.Field)) {
	visited := make(map[string]bool)
	var walk func(ast.SelectionSet)
	walk = func(set ast.SelectionSet) {
		for _, one := range set {
			switch one := one.(type) {
			case *ast.Field:
				if s.included(one.Directives) {
					visit(one)
				}
			case *ast.InlineFragment:
				if s.included(one.Directives) {
					walk(one.SelectionSet)
				}
			case *ast.FragmentSpread:
				if s.included(one.Directives) && !visited[one.Name] {
					visited[one.Name] = true
					walk(one.Definition.SelectionSet)
				}
			}
		}
	}
	for _, node := range s.nodes {
		walk(node.SelectionSet)
	}
}

func (s selection) included(directives ast.DirectiveList) bool {
	for _, directive := range directives {
		condition, _ := directive.ArgumentMap(s.operation.Variables)["if"].(bool)
		if directive.Name == "skip" && condition || directive.Name == "include" && !condition {
			return false
		}
	}
	return true
}
