package thriftrpc

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"hopwise/load/internal/exchange"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/stubs/shopthrift"
)

// Names in a request's metadata, which corresponds to HTTP headers.
const (
	authorization = "authorization"
	traceparent   = "traceparent"
	waits         = "x-envoy-expected-rq-timeout-ms" // how long the caller waits
)

var (
	compact = thrift.NewTCompactProtocolFactoryConf(nil)
	tjson   = thrift.NewTJSONProtocolFactory()
)

type client struct {
	exchange *exchange.Exchange
	service  string
	token    string
}

// framed is a client over framed Thrift with the compact protocol.
type framed struct{ client }

var _ thrift.TClient = framed{}

func (c framed) Call(ctx context.Context, method string, args, result thrift.TStruct) (thrift.ResponseMeta, error) {
	headers := args.(interface{ GetHeaders() map[string]string }).GetHeaders()
	if c.token != "" {
		headers[authorization] = "Bearer " + c.token
	}
	if deadline, limited := ctx.Deadline(); limited {
		headers[waits] = strconv.FormatInt(max(time.Until(deadline).Milliseconds(), 1), 10)
	}
	return thrift.ResponseMeta{}, c.exchange.Frame(ctx, exchange.FramedCall{
		Service: c.service, Method: method,
		Write: func(parent string) ([]byte, error) {
			headers[traceparent] = parent
			return write(ctx, compact, method, args)
		},
		Read: func(answer []byte) error { return read(ctx, compact, method, answer, result) },
	})
}

type posted struct{ client }

var _ thrift.TClient = posted{}

const mediaType = "application/vnd.apache.thrift.json"

func (c posted) Call(ctx context.Context, method string, args, result thrift.TStruct) (meta thrift.ResponseMeta, err error) {
	message, err := write(ctx, tjson, method, args)
	if err != nil {
		return meta, outcome.Failed(outcome.Client, "%s: %w", method, err)
	}
	path := "/thrift/" + c.service
	response, err := c.exchange.Do(ctx, exchange.Request{
		Method: http.MethodPost, Route: path, Path: path, Token: c.token, Body: message,
		Header: map[string]string{"Accept": mediaType, "Content-Type": mediaType},
	})
	switch {
	case err != nil:
		return meta, err
	case response.Status != http.StatusOK:
		return meta, outcome.Failed(outcome.OfStatus(response.Status), "%s: status %d", method, response.Status)
	case response.Type != mediaType:
		return meta, outcome.Wrong("%s: the answer is %q instead of Thrift", method, response.Type)
	}
	return meta, read(ctx, tjson, method, response.Body, result)
}

// write encodes a call. A connection carries one call at a time, so all calls have the same sequence number.
func write(ctx context.Context, encoding thrift.TProtocolFactory, method string, args thrift.TStruct) ([]byte, error) {
	buffer := thrift.NewTMemoryBuffer()
	protocol := encoding.GetProtocol(buffer)
	if err := protocol.WriteMessageBegin(ctx, method, thrift.CALL, 1); err != nil {
		return nil, err
	}
	if err := args.Write(ctx, protocol); err != nil {
		return nil, err
	}
	if err := protocol.WriteMessageEnd(ctx); err != nil {
		return nil, err
	}
	err := protocol.Flush(ctx)
	return buffer.Bytes(), err
}

// read decodes an answer; if the service returned an error, the error decides the class of the failure.
func read(ctx context.Context, encoding thrift.TProtocolFactory, method string, answer []byte, result thrift.TStruct) error {
	buffer := thrift.NewTMemoryBuffer()
	_, _ = buffer.Write(answer) // never fails
	protocol := encoding.GetProtocol(buffer)
	name, kind, _, err := protocol.ReadMessageBegin(ctx)
	switch {
	case err != nil:
		return outcome.Wrong("%s: the answer is not Thrift: %w", method, err)
	case kind == thrift.EXCEPTION:
		failure := thrift.NewTApplicationException(thrift.UNKNOWN_APPLICATION_EXCEPTION, "")
		if err := failure.Read(ctx, protocol); err != nil {
			return outcome.Wrong("%s: the answer is not Thrift: %w", method, err)
		}
		return outcome.Failed(outcome.Server, "%s: %w", method, failure)
	case name != method:
		return outcome.Wrong("%s: the answer is from the method %q", method, name)
	}
	if err := result.Read(ctx, protocol); err != nil {
		return outcome.Wrong("%s: the answer is not the message asked for: %w", method, err)
	}
	if e := result.(interface{ GetError() *shopthrift.ShopError }).GetError(); e != nil {
		return outcome.Failed(outcome.OfCode(e.Code), "%s: %s: %s", method, e.Code, e.Message)
	}
	if !result.(interface{ IsSetSuccess() bool }).IsSetSuccess() {
		return outcome.Wrong("%s: the answer has neither a result nor an error", method)
	}
	return nil
}
