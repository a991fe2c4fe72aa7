// Package graphql is a client of the gateway's and services' GraphQL APIs; it sends only hashes of persisted documents.
package graphql

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"

	"hopwise/load/internal/exchange"
	"hopwise/load/internal/outcome"
)

const (
	endpoint       = "/graphql"
	notRegistered  = "PERSISTED_QUERY_NOT_FOUND"
	persistVersion = 1
)

// Variables are the values of a document's variables, by name.
type Variables = map[string]any

type payload struct {
	Query      string      `json:"query,omitempty"`
	Variables  Variables   `json:"variables,omitempty"`
	Extensions *extensions `json:"extensions,omitempty"` // nil for a document that is not persisted
}

type extensions struct {
	PersistedQuery persistedQuery `json:"persistedQuery"`
}

type persistedQuery struct {
	Version    int    `json:"version"`
	SHA256Hash string `json:"sha256Hash"`
}

type envelope[T any] struct {
	Data   *T `json:"data"`
	Errors []struct {
		Message    string `json:"message"`
		Extensions struct {
			Code string `json:"code"`
		} `json:"extensions"`
	} `json:"errors"`
}

type Client struct {
	exchange *exchange.Exchange
	token    string // session token; empty if there is no session
	sends    Sends
}

// Sends has the kinds of documents that a client sends, and how it sends them.
type Sends struct {
	Texts bool // whether documents are sent as full text, not persisted
	Gets  bool // whether persisted queries are sent with GET, so that shared caches can answer them
	Whole bool // whether NAME_whole, which selects whole resources, is sent instead of NAME if it exists
	// Router tells whether a router gets the documents, from their own folder: subgraphs have plain ids, and no edges.
	Router bool
}

// locate adds a router's folder to a document's name.
func (s Sends) locate(name string) string {
	if s.Router {
		return path.Join(federation, name)
	}
	return name
}

func (s Sends) document(name string) (d document, known bool) {
	name = s.locate(name)
	if d, known = documents[name+"_whole"]; s.Whole && known {
		return d, true
	}
	d, known = documents[name]
	return d, known
}

func NewClient(x *exchange.Exchange, token string, s Sends) Client { return Client{x, token, s} }

// ID returns an object's identifier as a variable: global, or the plain number for a router.
func (c Client) ID(kind string, id int64) any {
	if c.sends.Router {
		return id
	}
	return GlobalID(kind, id)
}

// In returns a client of the same journey in the session of the token.
func (c Client) In(token string) Client { return Client{c.exchange, token, c.sends} }

// Prepare registers documents, so that the load sends only hashes. If documents are sent as full text, it makes the
// gateway parse them; the gateway caches parsed documents in both cases.
//
// A document is registered with its text and without variables or a token. A document that needs variables or a token
// is refused before execution, so the registration changes no data.
func Prepare(ctx context.Context, names []string, s Sends, open func() *exchange.Exchange) error {
	for _, name := range names {
		document, known := s.document(name)
		if !known {
			return fmt.Errorf("there is no document %s.graphql", s.locate(name))
		}
		response, err := NewClient(open(), "", s).send(ctx, document, nil, true)
		if err != nil {
			return fmt.Errorf("registering the query %s: %w", s.locate(name), err)
		}
		if response.Status >= 500 || response.Status == http.StatusNotFound {
			return fmt.Errorf("registering the query %s: status %d from %s", s.locate(name), response.Status, document.path)
		}
	}
	return nil
}

// Ask sends the document with this name, as its hash or as full text, and returns the data of the answer.
//
// If the gateway does not know the hash (another replica, or a restarted process), the text is sent once more. The
// protocol of persisted queries requires this, and the extra request is counted.
func Ask[T any](ctx context.Context, c Client, name string, variables Variables) (T, error) {
	document, _ := c.sends.document(name)
	data, code, err := ask[T](ctx, c, document, variables, c.sends.Texts)
	if code == notRegistered {
		data, _, err = ask[T](ctx, c, document, variables, true)
	}
	return data, err
}

func ask[T any](ctx context.Context, c Client, d document, variables Variables, withText bool) (data T, code string, err error) {
	response, err := c.send(ctx, d, variables, withText)
	if err != nil {
		return data, "", err
	}
	return decode[T](d.path, response)
}

// send sends a request with the document's hash, if documents are persisted; withText adds the document's text.
func (c Client) send(ctx context.Context, d document, variables Variables, withText bool) (exchange.Response, error) {
	p := payload{Variables: variables}
	if !c.sends.Texts {
		p.Extensions = &extensions{persistedQuery{persistVersion, d.hash}}
	}
	if withText {
		p.Query = d.text
	}
	if c.sends.Gets && !withText && d.reads() {
		return c.get(ctx, d.path, p)
	}
	body, err := json.Marshal(p)
	if err != nil {
		return exchange.Response{}, outcome.Failed(outcome.Client, "variables: %w", err)
	}
	return c.exchange.Do(ctx, exchange.Request{Method: http.MethodPost, Route: d.path, Path: d.path, Token: c.token, Body: body})
}

// get sends a persisted query in the URL.
func (c Client) get(ctx context.Context, path string, p payload) (exchange.Response, error) {
	query := url.Values{}
	for name, value := range map[string]any{"variables": p.Variables, "extensions": p.Extensions} {
		text, err := json.Marshal(value)
		if err != nil {
			return exchange.Response{}, outcome.Failed(outcome.Client, "%s: %w", name, err)
		}
		query.Set(name, string(text))
	}
	return c.exchange.Do(ctx, exchange.Request{Method: http.MethodGet, Route: path, Path: path, Query: query, Token: c.token})
}

// decode reads an answer. GraphQL errors have codes despite HTTP status 200; an unreadable answer is a wrong_answer.
func decode[T any](path string, response exchange.Response) (data T, code string, err error) {
	var e envelope[T]
	unreadable := json.Unmarshal(response.Body, &e)
	if unreadable == nil && len(e.Errors) > 0 {
		first := e.Errors[0]
		if code = first.Extensions.Code; code == "" {
			code = "no code"
		}
		class := outcome.OfAnswer(outcome.OfCode(code), response.Status)
		return data, code, outcome.Failed(class, "GraphQL error %s: %s", code, first.Message)
	}
	if class := outcome.OfStatus(response.Status); class != outcome.OK {
		return data, "", outcome.Failed(class, "POST %s: status %d", path, response.Status)
	}
	if unreadable != nil {
		return data, "", outcome.Wrong("POST %s: the answer is not the JSON asked for: %w", path, unreadable)
	}
	if !response.JSON() {
		return data, "", outcome.Wrong("POST %s: the answer is %q instead of JSON", path, response.Type)
	}
	if e.Data == nil {
		return data, "", outcome.Wrong("POST %s: the answer has neither data nor errors", path)
	}
	return *e.Data, "", nil
}
