package exchange

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"

	"hopwise/load/internal/outcome"
)

const maxBody = 64 << 20

// Request is one HTTP request of a journey.
type Request struct {
	Method string
	Route  string // path without identifiers, names the span: "/v1/orders/{id}"
	Path   string
	Query  url.Values
	Token  string // of the session; empty: none
	Header map[string]string
	Body   []byte // JSON; empty: none
}

// Response is an HTTP answer whose body is read and decompressed.
type Response struct {
	Status int
	Type   string // media type, without parameters
	Body   []byte
}

// Do sends one request and reads its answer; any HTTP status is an answer.
//
// A failure has its class: client if the request could not be sent, server if no answer came back, wrong_answer if the
// answer broke off or cannot be decompressed, timeout if the context's deadline passed.
func (x *Exchange) Do(ctx context.Context, r Request) (Response, error) {
	x.begin()
	defer x.end()
	call := x.trace.Call(r.Method, r.Route, r.Path)
	response, err := x.send(ctx, r, call.Traceparent())
	call.End(response.Status, err)
	return response, err
}

func (x *Exchange) send(ctx context.Context, r Request, traceparent string) (Response, error) {
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(info httptrace.WroteRequestInfo) { sent.Store(info.Err == nil) },
	})
	request, err := x.build(traced, r, traceparent)
	if err != nil {
		return Response{}, outcome.Failed(outcome.Client, "%s %s cannot be built: %w", r.Method, r.Route, err)
	}
	x.sizes.out.Add(int64(len(r.Body)))
	answer, err := x.client.transport().RoundTrip(request)
	if err != nil {
		class := outcome.Client
		if sent.Load() {
			class = outcome.Server
		}
		return Response{}, outcome.Failed(class, "%s %s: %w", r.Method, r.Route, err)
	}
	defer answer.Body.Close()
	x.status.Store(int64(answer.StatusCode))
	response := Response{Status: answer.StatusCode, Type: mediaType(answer.Header.Get("Content-Type"))}
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	x.sizes.in.Add(int64(len(raw)))
	if err != nil {
		return response, outcome.Wrong("%s %s: the answer breaks off after %d bytes: %w", r.Method, r.Route, len(raw), err)
	}
	if len(raw) == maxBody {
		return response, outcome.Wrong("%s %s: the answer is larger than %d bytes", r.Method, r.Route, maxBody)
	}
	if response.Body, err = decompress(raw, answer.Header.Get("Content-Encoding")); err != nil {
		return response, outcome.Wrong("%s %s: the answer cannot be decompressed: %w", r.Method, r.Route, err)
	}
	x.sizes.inRaw.Add(int64(len(response.Body)))
	return response, nil
}

func (x *Exchange) build(ctx context.Context, r Request, traceparent string) (*http.Request, error) {
	address := x.client.base + r.Path
	if len(r.Query) > 0 {
		address += "?" + r.Query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, address, bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	request.Header = http.Header{
		"Accept":          {"application/json"},
		"Accept-Encoding": {"gzip"},
		"Traceparent":     {traceparent},
		"User-Agent":      {"shopload"},
	}
	if len(r.Body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	if r.Token != "" {
		request.Header.Set("Authorization", "Bearer "+r.Token)
	}
	for name, value := range r.Header {
		request.Header.Set(name, value)
	}
	return request, nil
}

// JSON says whether the answer calls itself JSON; one that does not is none, whatever its bytes look like.
func (r Response) JSON() bool {
	return r.Type == "application/json" || strings.HasPrefix(r.Type, "application/") && strings.HasSuffix(r.Type, "+json")
}

func mediaType(header string) string {
	name, _, _ := strings.Cut(header, ";")
	return strings.ToLower(strings.TrimSpace(name))
}

func decompress(body []byte, encoding string) ([]byte, error) {
	switch strings.ToLower(encoding) {
	case "", "identity":
		return body, nil
	case "gzip":
		reader, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(io.LimitReader(reader, maxBody))
	}
	return nil, errors.New("unknown encoding " + encoding)
}
