package gateway

import (
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
)

// public has the types and single fields that all callers may see, as in graphql_gateway/schema.py.
var public = map[string]bool{
	"Query.product": true, "Query.products": true, "Query.document": true,
	"Product": true, "ProductConnection": true, "ProductEdge": true, "PageInfo": true, "Review": true, "Money": true,
	"Document": true, "DocumentSection": true, "DocumentRecord": true,
}

// isPublic tells whether all fields of a valid document are public, so that all callers get the same answer.
func isPublic(schema *ast.Schema, document *ast.QueryDocument) bool {
	isPublic, fields := true, new(validator.Events)
	fields.OnField(func(_ *validator.Walker, field *ast.Field) {
		owner := field.ObjectDefinition.Name
		isIntrospection := strings.HasPrefix(field.Name, "__") || strings.HasPrefix(owner, "__")
		isPublic = isPublic && (isIntrospection || public[owner] || public[owner+"."+field.Name])
	})
	validator.Walk(schema, document, fields)
	return isPublic
}
