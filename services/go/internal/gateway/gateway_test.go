package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"go.opentelemetry.io/otel/trace/noop"

	"hopwise/services/internal/shoperr"
	"hopwise/services/internal/stubs/schema"
)

func preparing(t *testing.T) *documents {
	t.Helper()
	return newDocuments(schema.NewExecutableSchema(schema.Config{}).Schema(), noop.NewTracerProvider().Tracer(""))
}

func TestCosts(t *testing.T) {
	d := preparing(t)
	for _, row := range []struct {
		query, variables string
		want             float64
	}{
		{`{ product(id: 1) { title } }`, `{}`, 51},
		{`{ products { edges { node { title } } } }`, `{}`, 50 + 20*3},
		{`query ($n: Int! = 9) { products(first: $n) { edges { node { title } } } }`, `{}`, 50 + 9*3},
		{`query ($n: Int) { products(first: $n) { edges { node { title } } } }`, `{}`, 50 + 20*3},
		{`query ($n: Int) { products(first: $n) { edges { node { title } } } }`, `{"n": null}`, 50 + 3},
		{`query ($n: Int!) { products(first: $n) { edges { node { title } } } }`, `{"n": 7.0}`, 50 + 7*3},
		{`query ($n: Int!) { products(first: $n) { edges { node { title } } } }`, `{"n": -7}`, 50 + 3},
		{`{ products(first: 10) { edges { node { reviews(first: 5) { id title } } } } }`, `{}`, 50 + 10*(3+5*2)},
		{`{ me { orders(first: 10) { edges { node { lines { id } } } } } }`, `{}`, 50 + 50 + 10*(2+1+100)},
		{`{ node(id: 1) { ... on Product { title } ...p } } fragment p on Payment { status }`, `{}`, 52},
		{`{ me { email address { city } } }`, `{}`, 50 + 16 + 16 + 1},
		{`{ __type(name: "Order") { ofType { name kind ofType { name } } } }`, `{}`, 1 + 6*(1+2+1+1)},
		{`{ document(id: 1) { sections { title records { text } } } }`, `{}`, 50 + 1 + 260*(2+25)},
		{`{ order(id: 1) { lines { order { lines { order { id } } } } } }`, `{}`, 50 + 1 + 100*(1+1+100*(1+1))},
		{`{ __type(name: "Order") { ofType { ofType { ofType { ofType { name } } } } } }`, `{}`, 1 + 6*4},
	} {
		document, err := d.prepare(t.Context(), row.query)
		if err != nil {
			t.Fatalf("%s: %v", row.query, err)
		}
		given, _ := decoded([]byte(row.variables), "", "it")
		variables, mistakes := coerced(d.schema, document.Operations[0], given.(map[string]any))
		if got := costOf(d.schema, document.Operations[0], variables); got != row.want || len(mistakes) > 0 {
			t.Errorf("%s with %s: got %v, %v", row.query, row.variables, got, mistakes)
		}
	}
}

func TestValuesOfVariables(t *testing.T) {
	d := preparing(t)
	const whole = `query ($n: Int!) { products(first: $n) { edges { cursor } } }`
	const buy = `mutation ($i: CheckoutInput!) { checkout(input: $i) { order { id } } }`
	const stock = `mutation ($s: Long!) { updateProduct(input: {id: 1, stock: $s}) { product { id } } }`
	const status = `mutation ($s: OrderStatus!) { updateOrderStatus(input: {id: 1, status: $s}) { order { id } } }`
	const purchase = `{"i": {"idempotencyKey": "k", "lines": {"productId": 3, "quantity": %s}, "paymentToken": "t"}}`
	for _, row := range []struct{ query, variables, said string }{
		{whole, `{"n": 7}`, ""},
		{whole, `{}`, "non-null type 'Int!'"},
		{whole, `{"n": null}`, "non-null type 'Int!'"},
		{whole, `{"n": "7"}`, `Int cannot represent value: "7"`},
		{whole, `{"n": 7.5}`, "Int cannot represent"},
		{whole, `{"n": 2147483648}`, "Int cannot represent"},
		{whole, `{"n": 1e300}`, "Int cannot represent"},
		{whole, `{"n": true}`, "Int cannot represent"},
		{stock, `{"s": 9223372036854775807}`, ""},
		{stock, `{"s": 9223372036854775808}`, "Long cannot represent"},
		{stock, `{"s": 1.0}`, "Long cannot represent"},
		{status, `{"s": "SHIPPED"}`, ""},
		{status, `{"s": "LOST"}`, `OrderStatus cannot represent value: "LOST"`},
		{buy, fmt.Sprintf(purchase, "1"), ""},
		{buy, fmt.Sprintf(purchase, `"1"`), "at 'lines': at [0]: at 'quantity': Int cannot represent"},
		{buy, `{"i": {"colour": "red"}}`, "Field 'colour' is not defined by type 'CheckoutInput'"},
	} {
		document, err := d.prepare(t.Context(), row.query)
		if err != nil {
			t.Fatal(err)
		}
		given, _ := decoded([]byte(row.variables), "", "it")
		_, mistakes := coerced(d.schema, document.Operations[0], given.(map[string]any))
		if (row.said == "") != (len(mistakes) == 0) || !strings.Contains(mistakes.Error(), row.said) {
			t.Errorf("%s: got %v", row.variables, mistakes)
		}
	}
}

func TestTheOperationThatIsAskedFor(t *testing.T) {
	for _, row := range []struct{ query, said string }{
		{"{ __typename }", "operationName is 'x'; the document's operation has no name"},
		{"query a { __typename } query b { __typename }", "operationName is 'x'; the document has the operations a, b"},
	} {
		document, err := parser.ParseQuery(&ast.Source{Input: row.query})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := operationOf(document, "x"); err == nil || !strings.Contains(err.Error(), row.said) {
			t.Errorf("%s: got %v", row.query, err)
		}
	}
}

func TestDocumentsAreRemembered(t *testing.T) {
	d := preparing(t)
	text := "{ __typename }"
	hash := "7f56e67dd21ab3f30d1ff8b7bed08893f0a0db86449836189b361dd1e56ddb4b"
	if _, err := d.find(t.Context(), nil, &hash); err != error(errPersistedQueryNotFound) {
		t.Errorf("got %v", err)
	}
	first, err := d.find(t.Context(), &text, &hash)
	again, _ := d.find(t.Context(), nil, &hash)
	byText, _ := d.find(t.Context(), &text, nil)
	if err != nil || first != again || first != byText {
		t.Errorf("it was prepared again: %v", err)
	}
	other := "{ me { id } }"
	if _, err := d.find(t.Context(), &other, &hash); err == nil {
		t.Error("a text of another hash is taken")
	}
}

func TestCursors(t *testing.T) {
	for cursor, want := range map[string]int32{"": 0, "3.": 3, "1000.x": 1000, "0.a.b": 0} {
		if skip, _, err := cursorOf(&cursor, mostPerPage); skip != want || err != nil {
			t.Errorf("%q: got %d, %v", cursor, skip, err)
		}
	}
	for _, cursor := range []string{"x", "1001.x", "99999.", "-1.x", ".x", "+1.x", "١.x"} {
		if _, _, err := cursorOf(&cursor, mostPerPage); err == nil {
			t.Errorf("%q is taken for a cursor", cursor)
		}
	}
}

func TestErrorsAsClientsSeeThem(t *testing.T) {
	text, err := json.Marshal(shown(shoperr.New(shoperr.Unavailable, "page_size", "try again")))
	const want = `{"message":"try again","extensions":{"code":"UNAVAILABLE","field":"pageSize","retryAfter":1}}`
	if string(text) != want || err != nil {
		t.Errorf("got %s, %v", text, err)
	}
}
