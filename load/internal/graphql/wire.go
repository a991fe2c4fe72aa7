package graphql

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"hopwise/load/internal/exchange"
	"hopwise/load/internal/outcome"
)

const (
	endpoint       = "/graphql"
	notRegistered  = "PERSISTED_QUERY_NOT_FOUND"
	persistVersion = 1
)

type payload struct {
	Query      string         `json:"query,omitempty"`
	Variables  map[string]any `json:"variables,omitempty"`
	Extensions extensions     `json:"extensions"`
}

type extensions struct {
	PersistedQuery persistedQuery `json:"persistedQuery"`
}

type persistedQuery struct {
	Version    int    `json:"version"`
	SHA256Hash string `json:"sha256Hash"`
}

type envelope[T any] struct {
	Data   *T             `json:"data"`
	Errors []graphQLError `json:"errors"`
}

type graphQLError struct {
	Message    string `json:"message"`
	Extensions struct {
		Code string `json:"code"`
	} `json:"extensions"`
}

// request returns a request that names the document by its hash; with text it carries the document too.
func request(d document, variables map[string]any, token string, withText bool) (exchange.Request, error) {
	p := payload{Variables: variables, Extensions: extensions{persistedQuery{persistVersion, d.hash}}}
	if withText {
		p.Query = d.text
	}
	body, err := json.Marshal(p)
	if err != nil {
		return exchange.Request{}, outcome.Failed(outcome.Client, "variables: %w", err)
	}
	return exchange.Request{Method: http.MethodPost, Route: endpoint, Path: endpoint, Token: token, Body: body}, nil
}

// ask sends a document by its hash and returns the data of the answer.
//
// If the gateway does not know the hash (another process of it, or one that was restarted), the text is sent once more, as
// the protocol of persisted queries has it; the extra request counts.
func ask[T any](ctx context.Context, x *exchange.Exchange, d document, variables map[string]any, token string) (T, error) {
	data, code, err := post[T](ctx, x, d, variables, token, false)
	if code == notRegistered {
		data, _, err = post[T](ctx, x, d, variables, token, true)
	}
	return data, err
}

func post[T any](
	ctx context.Context, x *exchange.Exchange, d document, variables map[string]any, token string, withText bool,
) (data T, code string, err error) {
	r, err := request(d, variables, token, withText)
	if err != nil {
		return data, "", err
	}
	response, err := x.Do(ctx, r)
	if err != nil {
		return data, "", err
	}
	return decode[T](response)
}

// decode reads an answer: errors come by their code also with status 200, and what cannot be read is a wrong answer.
func decode[T any](response exchange.Response) (data T, code string, err error) {
	var e envelope[T]
	unreadable := json.Unmarshal(response.Body, &e)
	if unreadable == nil && len(e.Errors) > 0 {
		first := e.Errors[0]
		if code = first.Extensions.Code; code == "" {
			code = "no code"
		}
		return data, code, outcome.Failed(outcome.OfCode(code), "GraphQL error %s: %s", code, first.Message)
	}
	if class := outcome.OfStatus(response.Status); class != outcome.OK {
		return data, "", outcome.Failed(class, "POST %s: status %d", endpoint, response.Status)
	}
	if unreadable != nil {
		return data, "", outcome.Wrong("POST %s: the answer is not the JSON asked for: %w", endpoint, unreadable)
	}
	if !response.JSON() {
		return data, "", outcome.Wrong("POST %s: the answer is %q instead of JSON", endpoint, response.Type)
	}
	if e.Data == nil {
		return data, "", outcome.Wrong("POST %s: the answer has neither data nor errors", endpoint)
	}
	return *e.Data, "", nil
}

// globalID returns Relay's global identifier of a thing.
func globalID(kind string, id int64) string {
	return base64.StdEncoding.EncodeToString([]byte(kind + ":" + strconv.FormatInt(id, 10)))
}

// id is a global identifier on the wire: one kind of thing, known by its number.
type id struct {
	kind   string
	number int64
}

func (i *id) UnmarshalJSON(text []byte) error {
	var encoded string
	if err := json.Unmarshal(text, &encoded); err != nil {
		return err
	}
	plain, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return fmt.Errorf("id %q is no global identifier", encoded)
	}
	kind, digits, _ := strings.Cut(string(plain), ":")
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return fmt.Errorf("id %q is no global identifier", encoded)
	}
	*i = id{kind, number}
	return nil
}

// of returns the number if the identifier is of the kind, else 0, which the check of the answer reports as missing.
func (i id) of(kind string) int64 {
	if i.kind != kind {
		return 0
	}
	return i.number
}
