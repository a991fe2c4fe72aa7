package gateway

import (
	"context"
	"mime"
	"net/http"
	"net/url"

	"github.com/99designs/gqlgen/graphql"

	"hopwise/services/internal/shoperr"
	"hopwise/services/internal/web"
)

// parameters are the names of a request's members.
var parameters = []string{"query", "variables", "operationName", "extensions"}

// receive reads a request within the limits; its JSON must be unambiguous.
func receive(ctx context.Context, w http.ResponseWriter, r *http.Request) (*graphql.RawParams, error) {
	switch r.Method {
	case http.MethodGet:
		return fromQuery(r.URL.RawQuery)
	case http.MethodPost:
		kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil || kind != mediaJSON {
			return nil, web.RefuseMediaType("the content type is '%s'; application/json is valid", kind)
		}
		body, err := web.ReadBody(ctx, w, r)
		if err != nil {
			return nil, err
		}
		return decodeObject[graphql.RawParams](body, "", "the body", parameters...)
	}
	return nil, web.RefuseMethod("only GET and POST are valid", "GET, POST")
}

func fromQuery(text string) (*graphql.RawParams, error) {
	given, _ := url.ParseQuery(text) // malformed pairs are left out
	for _, name := range parameters {
		if len(given[name]) > 1 {
			return nil, web.RefuseRepetition(name)
		}
	}
	params := &graphql.RawParams{Query: given.Get("query"), OperationName: given.Get("operationName")}
	for name, into := range map[string]*map[string]any{"variables": &params.Variables, "extensions": &params.Extensions} {
		if value := given.Get(name); value != "" && value != "null" {
			object, err := decodeObject[map[string]any]([]byte(value), name, name)
			if err != nil {
				return nil, err
			}
			*into = *object
		}
	}
	return params, nil
}

// decodeObject returns the JSON object of a text.
func decodeObject[T any](text []byte, field, what string, names ...string) (*T, error) {
	if err := web.CheckObject(text, field, what, names...); err != nil {
		return nil, err
	}
	value := new(T)
	if web.NumberDecoder(text).Decode(value) != nil { // the variables' types parse the digits
		return nil, shoperr.Invalid(field, "query and operationName must be texts, variables and extensions objects, or null")
	}
	return value, nil
}
