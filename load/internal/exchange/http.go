package exchange

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"hopwise/load/internal/outcome"
)

const maxBody = 64 << 20

type Request struct {
	Method string
	Route  string // path without identifiers, which names the span: "/v1/orders/{id}"
	Path   string
	Query  url.Values
	URI    string // escaped path and query, instead of Path and Query; empty if those are given
	Token  string // session token; empty if there is no session
	Header map[string]string
	Body   []byte // JSON; empty if there is no body
}

// Response is an HTTP answer whose body is read and decompressed.
type Response struct {
	Status int
	Type   string // media type, without parameters
	Header http.Header
	Body   []byte

	unchanged bool // whether the shop answered 304; the other fields are then from the cache
}

// Do sends one request and reads its answer; any HTTP status is an answer.
//
// A failure has a class: client if there was no connection to send on, server if there was no answer, timeout if the
// context's deadline passed. An answer that breaks off or cannot be decompressed is a wrong_answer.
func (x *Exchange) Do(ctx context.Context, r Request) (Response, error) {
	x.begin()
	call := x.trace.Call(r.Method, r.Route, cmp.Or(r.Path, r.Route))
	way := x.at.client.follow(len(r.Body) > 0)
	response, err := x.send(way.withTrace(ctx), r, call.Traceparent(), way)
	status := response.Status
	if response.unchanged {
		status = http.StatusNotModified
	}
	x.end(way, call).End(status, err)
	return response, err
}

func (x *Exchange) send(ctx context.Context, r Request, traceContext string, way *crossing) (Response, error) {
	request := x.build(ctx, r, traceContext)
	if r.URI != "" {
		to, err := url.ParseRequestURI(r.URI)
		if err != nil {
			return Response{}, outcome.Failed(outcome.Client, "%s %s: %w", r.Method, r.Route, err)
		}
		if to.Host != "" && !LeadsTo(to, x.at.host) {
			return Response{}, outcome.Failed(outcome.Client, "%s %s: %.200q leads away from the target", r.Method, r.Route, r.URI)
		}
		to.Scheme, to.Host = x.at.base.Scheme, x.at.base.Host
		request.URL = to
	}
	known, asks := x.cache.find(request)
	if asks {
		request.Header.Set("If-None-Match", known.tag)
	}
	x.sizes.out.Add(int64(len(r.Body)))
	transport, leave := x.at.transport()
	defer leave()
	if x.at.client.own != nil && x.at.client.http == 1 { // not needed for the shop: its edge logs retried requests
		sendOnce(request)
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return Response{}, outcome.Failed(classUnanswered(err), "%s %s: %w", r.Method, r.Route, err)
	}
	defer answer.Body.Close()
	way.answered()
	x.status.Store(int64(answer.StatusCode))
	response := Response{
		Status: answer.StatusCode, Type: mediaType(answer.Header.Get("Content-Type")), Header: answer.Header,
	}
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	way.read()
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
	if len(x.needs) > 0 {
		x.compare(x.needs.OfJSON(response.Body, x.packed()))
	}
	if asks && response.Status == http.StatusNotModified {
		x.cache.notModified.Add(1)
		known.answer.unchanged = true
		return known.answer, nil
	}
	x.cache.keep(request, response)
	return response, nil
}

// LeadsTo tells whether a URL has a host and port; servers leave out the default port in a Location.
func LeadsTo(to *url.URL, host string) bool {
	port := map[string]string{"http": ":80", "https": ":443"}[to.Scheme]
	return strings.EqualFold(strings.TrimSuffix(to.Host, port), strings.TrimSuffix(host, port))
}

// classUnanswered classes the error of a request without an answer: client if there was no connection to send it on, else server.
func classUnanswered(err error) outcome.Class {
	if failed := (*unopened)(nil); errors.As(err, &failed) || isUnanswered(err) {
		return outcome.Client
	}
	return outcome.Server
}

// sendOnce keeps net/http from silently retrying a request whose connection is dropped before the answer. net/http
// retries what it considers idempotent if it can read the body again. An empty body of unknown length cannot be read
// again; with the transfer coding identity, the bytes sent are the same as without a body.
func sendOnce(request *http.Request) {
	request.GetBody = nil
	if request.Body == nil && request.Method != http.MethodPost && request.Method != http.MethodPut && request.Method != http.MethodPatch {
		request.Body, request.TransferEncoding = io.NopCloser(bytes.NewReader(nil)), []string{"identity"}
	}
}

const gzipEncoding = "gzip"

// Header values that all requests share; this is safe, because headers are not changed once a request is sent.
var (
	acceptJSON     = []string{"application/json"}
	acceptGzip     = []string{gzipEncoding}
	acceptIdentity = []string{"identity"}
	userAgent      = []string{"shopload"}
	contentJSON    = []string{"application/json"}
)

func (x *Exchange) build(ctx context.Context, r Request, traceContext string) *http.Request {
	request := &http.Request{
		Method:     r.Method,
		URL:        &url.URL{Scheme: x.at.base.Scheme, Host: x.at.base.Host, Path: r.Path, RawQuery: r.Query.Encode()},
		Proto:      "HTTP/1.1", // a client's value has no effect; the transport sets its own
		ProtoMajor: 1,
		ProtoMinor: 1,
		Host:       x.at.host,
		Header: http.Header{
			"Accept":          acceptJSON,
			"Accept-Encoding": x.at.client.acceptEncoding,
			"User-Agent":      userAgent,
		},
	}
	if len(r.Body) > 0 {
		request.Header["Content-Type"] = contentJSON
		request.ContentLength = int64(len(r.Body))
		request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.Body)), nil }
		request.Body, _ = request.GetBody()
	}
	x.declare(traceContext, r.Token, request.Header.Set)
	for name, value := range r.Header {
		if strings.EqualFold(name, "Host") {
			request.Host = value // net/http writes this field instead of a header of that name
			continue
		}
		request.Header.Set(name, value)
	}
	return request.WithContext(ctx)
}

// JSON tells whether the answer's media type is JSON, regardless of its bytes.
func (r Response) JSON() bool {
	return r.Type == "application/json" || strings.HasPrefix(r.Type, "application/") && strings.HasSuffix(r.Type, "+json")
}

func mediaType(header string) string {
	name, _, _ := strings.Cut(header, ";")
	return strings.ToLower(strings.TrimSpace(name))
}

func decompress(body []byte, encoding string) ([]byte, error) {
	if len(body) == 0 { // as after HEAD and with 204, whose headers may describe a body that is not sent
		return body, nil
	}
	switch strings.ToLower(encoding) {
	case "", "identity":
		return body, nil
	case gzipEncoding, "x-gzip":
		reader, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		plain, err := io.ReadAll(io.LimitReader(reader, maxBody))
		if len(plain) == maxBody {
			return nil, fmt.Errorf("it becomes larger than %d bytes", maxBody)
		}
		return plain, err
	}
	return nil, errors.New("unknown encoding " + encoding)
}

// maxKept is the maximum size of all bodies in a cache, in bytes; a full cache stores no further answers.
const maxKept = 64 << 20

// Cache stores answers that have an entity tag: public ones once, private ones for each customer. It never answers
// without revalidation by the next request (If-None-Match), so no answer is stale.
type Cache struct {
	mu          sync.Mutex
	kept        map[resource]kept
	bytes       int
	notModified atomic.Int64
}

// resource is the content of a URL for the customer with the token, or for all customers if there is no token.
type resource struct{ token, url string }

type kept struct {
	tag    string
	answer Response
}

func NewCache() *Cache { return &Cache{kept: map[resource]kept{}} }

// NotModified returns the number of answers that came from the cache after the shop answered 304.
func (c *Cache) NotModified() int64 { return c.notModified.Load() }

func (c *Cache) find(r *http.Request) (k kept, found bool) {
	if c == nil || r.Method != http.MethodGet {
		return k, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, found = c.kept[resource{"", r.URL.RequestURI()}]; !found {
		k, found = c.kept[resource{r.Header.Get("Authorization"), r.URL.RequestURI()}]
	}
	return k, found
}

// keep stores an answer if that is allowed, and replaces an older answer.
func (c *Cache) keep(r *http.Request, answer Response) {
	policy, tag := answer.Header.Get("Cache-Control"), answer.Header.Get("ETag")
	if c == nil || r.Method != http.MethodGet || answer.Status != http.StatusOK || tag == "" || strings.Contains(policy, "no-store") {
		return
	}
	of := resource{"", r.URL.RequestURI()}
	if !strings.Contains(policy, "public") {
		of.token = r.Header.Get("Authorization")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes := c.bytes - len(c.kept[of].answer.Body) + len(answer.Body); bytes <= maxKept {
		c.kept[of], c.bytes = kept{tag, answer}, bytes
	}
}
