package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/validator"
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
		{`query ($n: Int!) { products(first: $n) { edges { node { title } } } }`, `{"n": "7"}`, 50 + 7*3},
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
		decoder := json.NewDecoder(strings.NewReader(row.variables))
		decoder.UseNumber() // as gqlgen's transports do
		var given map[string]any
		if err := decoder.Decode(&given); err != nil {
			t.Fatal(err)
		}
		variables, err := validator.VariableValues(d.schema, document.Operations[0], given)
		if got := costOf(d.schema, document.Operations[0], variables); got != row.want || err != nil {
			t.Errorf("%s with %s: got %v, %v", row.query, row.variables, got, err)
		}
	}
}

func TestDocumentsAreRemembered(t *testing.T) {
	d := preparing(t)
	text := "{ __typename }"
	hash := "7f56e67dd21ab3f30d1ff8b7bed08893f0a0db86449836189b361dd1e56ddb4b"
	if _, err := d.find(t.Context(), "", hash, ""); err != errPersistedQueryNotFound {
		t.Errorf("got %v", err)
	}
	first, err := d.find(t.Context(), text, hash, "")
	again, _ := d.find(t.Context(), "", hash, "")
	byText, _ := d.find(t.Context(), text, "", "")
	if err != nil || first != again || first != byText {
		t.Errorf("it was prepared again: %v", err)
	}
	if _, err := d.find(t.Context(), "{ me { id } }", hash, ""); err == nil {
		t.Error("a text of another hash is taken")
	}
	invalid := "{ nothing }"
	sum := sha256.Sum256([]byte(invalid))
	hash = hex.EncodeToString(sum[:])
	if _, err := d.find(t.Context(), invalid, hash, ""); err == nil {
		t.Error("an invalid document is taken")
	}
	if _, err := d.find(t.Context(), "", hash, ""); err != errPersistedQueryNotFound {
		t.Errorf("an invalid document is kept: %v", err)
	}
}

func TestAFloodFromOneAddressDelaysAnotherByOneDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := preparing(t)
		send := func(text, address string) {
			go func() {
				if _, err := d.find(t.Context(), text, "", address); err != nil {
					t.Errorf("%s: %v", text, err)
				}
			}()
			synctest.Wait()
		}
		d.turn <- struct{}{} // a document is being prepared
		flood := []string{"query a { __typename }", "query b { __typename }", "query c { __typename }"}
		for _, text := range flood {
			send(text, "192.0.2.1")
		}
		other := "query d { __typename }"
		send(other, "192.0.2.2")
		<-d.turn
		time.Sleep(time.Second) // on the bubble's clock, which no work advances
		if order := d.byText.Keys(); !slices.Equal(order, slices.Insert(flood, 1, other)) {
			t.Errorf("prepared in the order %q", order)
		}
	})
}

func TestFewRequestsFromOneAddressWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, refusal := preparing(t), new(shoperr.Error)
		find := func(text, address string) error {
			_, err := d.find(t.Context(), text, "", address)
			return err
		}
		d.turn <- struct{}{} // a document is being prepared
		for number := range 2*maxWaiting + 1 {
			address := "192.0.2.1"
			if number >= maxWaiting {
				address = "" // a call from inside
			}
			go func() {
				if err := find("query a { __typename }", address); err != nil {
					t.Errorf("%q: %v", address, err)
				}
			}()
		}
		synctest.Wait()
		if err := find("query a { __typename }", "192.0.2.1"); !errors.As(err, &refusal) || refusal.RetryAfter() != time.Second {
			t.Errorf("one request too many: %v", err)
		}
		<-d.turn
		time.Sleep(time.Second) // on the bubble's clock, which no work advances
		if err := find("query b { __typename }", "192.0.2.1"); err != nil {
			t.Errorf("after the others: %v", err)
		}
	})
}

func TestAmbiguousRequestsAreRefused(t *testing.T) {
	for _, text := range []string{
		`{"Query": "{ __typename }"}`, `{"query": "a", "QUERY": "b"}`, `{"variable\u017f": {}}`, `{"variables": {"a": 1, "a": 2}}`,
		`{"query": 7}`, `[]`, `null`, `{"query": "a"} {}`,
	} {
		if _, refusal := decodeObject[graphql.RawParams]([]byte(text), "", "the body", parameters...); refusal == nil {
			t.Errorf("%s is taken", text)
		}
	}
	const text = ` {"query": "a", "variables": {"a": {"Query": 1.5}, "A": null}, "operationName": null, "more": 1}`
	params, refusal := decodeObject[graphql.RawParams]([]byte(text), "", "the body", parameters...)
	if refusal != nil || params.Query != "a" || len(params.Variables) != 2 {
		t.Errorf("read %+v, %v", params, refusal)
	}
}

func TestCursors(t *testing.T) {
	for cursor, want := range map[string]int32{"": 0, "3.": 3, "200.x": 200, "0.a.b": 0} {
		if skip, _, err := cursorOf(&cursor, maxPerPage); skip != want || err != nil {
			t.Errorf("%q: got %d, %v", cursor, skip, err)
		}
	}
	for _, cursor := range []string{"x", "201.x", "99999.", "-1.x", ".x", "+1.x", "١.x"} {
		if _, _, err := cursorOf(&cursor, maxPerPage); err == nil {
			t.Errorf("%q is taken for a cursor", cursor)
		}
	}
}

func TestErrorsAsClientsSeeThem(t *testing.T) {
	text, err := json.Marshal(presentFailure(shoperr.New(shoperr.Unavailable, "page_size", "try again")))
	const want = `{"message":"try again","extensions":{"code":"UNAVAILABLE","field":"pageSize","retryAfter":1}}`
	if string(text) != want || err != nil {
		t.Errorf("got %s, %v", text, err)
	}
}
