package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"hopwise/load/internal/exchange"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
)

type Client struct {
	exchange *exchange.Exchange
	token    string // session token; empty if there is no session
	problem  Problem
}

// Problem reads the body of an error; ok is false if the body is not in the API's format.
type Problem func(body []byte) (class outcome.Class, text string, ok bool)

// NewClient returns a client in the session of the token; p reads the API's errors.
func NewClient(x *exchange.Exchange, token string, p Problem) Client { return Client{x, token, p} }

// Get fetches a resource; id replaces "{id}" in the route.
func Get[T any](ctx context.Context, c Client, route string, id int64, query url.Values) (T, error) {
	return fetch[T](ctx, c, exchange.Request{
		Method: http.MethodGet, Route: route, Path: pathOf(route, id), Query: query, Token: c.token,
	}, http.StatusOK)
}

type Write struct {
	Method   string
	Route    string
	ID       int64 // replaces "{id}" in the route
	Header   map[string]string
	Body     any
	Expected int // expected status
}

func Send[T any](ctx context.Context, c Client, w Write) (T, error) {
	text, err := json.Marshal(w.Body)
	if err != nil {
		var none T
		return none, outcome.Failed(outcome.Client, "%s %s: %w", w.Method, w.Route, err)
	}
	return fetch[T](ctx, c, exchange.Request{
		Method: w.Method, Route: w.Route, Path: pathOf(w.Route, w.ID), Token: c.token, Header: w.Header, Body: text,
	}, w.Expected)
}

func pathOf(route string, id int64) string { return strings.Replace(route, "{id}", number(id), 1) }

func fetch[T any](ctx context.Context, c Client, r exchange.Request, expected int) (T, error) {
	var body T
	response, err := c.exchange.Do(ctx, r)
	if err != nil {
		return body, err
	}
	if response.Status != expected {
		return body, c.refusal(r, response, expected)
	}
	if err := json.Unmarshal(response.Body, &body); err != nil {
		return body, outcome.Wrong("%s %s: the answer is not the JSON asked for: %w", r.Method, r.Route, err)
	}
	if !response.JSON() {
		return body, outcome.Wrong("%s %s: the answer is %q instead of JSON", r.Method, r.Route, response.Type)
	}
	return body, nil
}

// refusal classifies an answer with an unexpected status: by the code if the body has a known one, else by the status.
func (c Client) refusal(r exchange.Request, response exchange.Response, expected int) error {
	class := outcome.OfStatus(response.Status)
	if class == outcome.OK {
		return outcome.Wrong("%s %s: status %d instead of %d", r.Method, r.Route, response.Status, expected)
	}
	if coded, text, ok := c.problem(response.Body); ok {
		return outcome.Failed(outcome.OfAnswer(coded, response.Status), "%s %s: status %d, %s", r.Method, r.Route, response.Status, text)
	}
	return outcome.Failed(class, "%s %s: status %d", r.Method, r.Route, response.Status)
}

// shopProblem reads an error of the shop (RFC 9457).
func shopProblem(body []byte) (outcome.Class, string, bool) {
	var p struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
		Title  string `json:"title"`
	}
	if json.Unmarshal(body, &p) != nil || p.Code == "" {
		return "", "", false
	}
	return outcome.OfCode(p.Code), p.Code + ": " + cmp.Or(p.Detail, p.Title), true
}

func number(id int64) string { return strconv.FormatInt(id, 10) }

// numbers returns identifiers as the value of a query parameter, separated by commas.
func numbers(ids []int64) string { return strings.Join(shop.Mapped(ids, number), ",") }
