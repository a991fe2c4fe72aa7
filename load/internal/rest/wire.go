package rest

import (
	"context"
	"encoding/json"
	"net/http"

	"hopwise/load/internal/exchange"
	"hopwise/load/internal/outcome"
)

// problem is an error of the shop (RFC 9457).
type problem struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Title  string `json:"title"`
}

// fetch sends a request and decodes the answer, which must have the expected status.
func fetch[T any](ctx context.Context, x *exchange.Exchange, r exchange.Request, expected int) (T, error) {
	var body T
	response, err := x.Do(ctx, r)
	if err != nil {
		return body, err
	}
	if response.Status != expected {
		return body, refusal(r, response, expected)
	}
	if err := json.Unmarshal(response.Body, &body); err != nil {
		return body, outcome.Wrong("%s %s: the answer is not the JSON asked for: %w", r.Method, r.Route, err)
	}
	if !response.JSON() {
		return body, outcome.Wrong("%s %s: the answer is %q instead of JSON", r.Method, r.Route, response.Type)
	}
	return body, nil
}

// refusal classes an answer with another status: by the shop's code if the body has one, else by the status.
func refusal(r exchange.Request, response exchange.Response, expected int) error {
	class := outcome.OfStatus(response.Status)
	if class == outcome.OK {
		return outcome.Wrong("%s %s: status %d instead of %d", r.Method, r.Route, response.Status, expected)
	}
	var p problem
	if json.Unmarshal(response.Body, &p) != nil || p.Code == "" {
		return outcome.Failed(class, "%s %s: status %d", r.Method, r.Route, response.Status)
	}
	detail := p.Detail
	if detail == "" {
		detail = p.Title
	}
	return outcome.Failed(outcome.OfCode(p.Code), "%s %s: status %d, %s: %s", r.Method, r.Route, response.Status, p.Code, detail)
}

func (c call) get(route, path string, query map[string][]string) exchange.Request {
	return exchange.Request{Method: http.MethodGet, Route: route, Path: path, Query: query, Token: c.token}
}

func (c call) write(method, route, path string, body any) (exchange.Request, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return exchange.Request{}, outcome.Failed(outcome.Client, "%s %s: %w", method, route, err)
	}
	return exchange.Request{Method: method, Route: route, Path: path, Token: c.token, Body: text}, nil
}
