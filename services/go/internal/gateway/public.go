package gateway

import (
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// public is what everyone may see, as in graphql_gateway/schema.py: types with all their fields, and single fields.
var public = map[string]bool{
	"Query.product": true, "Query.products": true, "Query.document": true,
	"Product": true, "ProductConnection": true, "ProductEdge": true, "PageInfo": true, "Review": true, "Money": true,
	"Document": true, "DocumentSection": true, "DocumentRecord": true,
}

// isPublic tells whether all fields of a valid document are public, so that everyone gets the same answer.
func isPublic(document *ast.QueryDocument) bool {
	for _, operation := range document.Operations {
		if !allPublic(operation.SelectionSet) {
			return false
		}
	}
	for _, fragment := range document.Fragments {
		if !allPublic(fragment.SelectionSet) {
			return false
		}
	}
	return true
}

func allPublic(set ast.SelectionSet) bool {
	for _, one := range set {
		switch one := one.(type) {
		case *ast.Field:
			owner := one.ObjectDefinition.Name
			isIntrospection := strings.HasPrefix(one.Name, "__") || strings.HasPrefix(owner, "__")
			if !isIntrospection && !public[owner] && !public[owner+"."+one.Name] || !allPublic(one.SelectionSet) {
				return false
			}
		case *ast.InlineFragment:
			if !allPublic(one.SelectionSet) {
				return false
			}
		}
	}
	return true
}
