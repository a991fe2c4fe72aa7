package product

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// parts are the constants that are only parts of statements.
var parts = map[string]bool{"withReviewsSQL": true, "reviewsOfSQL": true, "byIDSQL": true}

func TestEachStatementNamesItsSpan(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "statements.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared, named := make(map[string]bool), make(map[string]bool)
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ValueSpec:
			if name := node.Names[0].Name; strings.HasSuffix(name, "SQL") && !parts[name] {
				declared[name] = true
			}
		case *ast.KeyValueExpr:
			named[node.Key.(*ast.Ident).Name] = true
		}
		return true
	})
	for name := range declared {
		if !named[name] {
			t.Errorf("%s is not in SpanNames", name)
		}
	}
	if len(declared) != len(SpanNames) {
		t.Errorf("%d statements, %d names", len(declared), len(SpanNames))
	}
}
