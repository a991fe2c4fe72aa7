package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"hopwise/services/internal/shoperr"
	"hopwise/services/internal/web"
)

const (
	mediaJSON     = "application/json"
	mediaResponse = "application/graphql-response+json"
)

type exchangeKey struct{}

// exchange is a request and its answer; gqlgen's extensions find it in the context.
type exchange struct {
	http.ResponseWriter
	request  *http.Request
	document *document
	mistakes gqlerror.List // of the document, after the first
	cost     float64       // of the operation
	refusal  *web.Refusal  // nil for a GraphQL request
	stay     func() bool   // lets the work continue when the client leaves
	status   int           // of the answer
	code     string        // of the first error in the answer
}

func newExchange(w http.ResponseWriter, r *http.Request) *exchange {
	return &exchange{ResponseWriter: w, request: r, status: http.StatusOK}
}

func exchangeOf(ctx context.Context) *exchange { return ctx.Value(exchangeKey{}).(*exchange) }

// refuse answers a request that is not a GraphQL request.
func (x *exchange) refuse(ctx context.Context, err error) {
	x.refusal = web.RefusalOf(ctx, err)
	x.send(&graphql.Response{Errors: gqlerror.List{presentFailure(x.refusal.Failure)}})
}

// send writes the answer with its cache headers. The media type of an answer to GET depends on Accept.
func (x *exchange) send(response *graphql.Response) {
	header, body := x.Header(), bodyOf(response)
	if len(response.Errors) > 0 {
		x.code, _ = response.Errors[0].Extensions["code"].(string)
	}
	header.Set("Content-Type", mediaJSON)
	if strings.Contains(x.request.Header.Get("Accept"), mediaResponse) {
		header.Set("Content-Type", mediaResponse)
	} else if x.status != http.StatusInternalServerError {
		x.status = http.StatusOK // clients that accept application/json expect 200 for any GraphQL request
	}
	header.Set("Cache-Control", "no-store")
	switch {
	case x.refusal != nil:
		x.status = x.refusal.Status
		if x.refusal.Header[0] != "" {
			header.Set(x.refusal.Header[0], x.refusal.Header[1])
		}
	case x.request.Method == http.MethodGet && x.code == "" && x.document.isPublic:
		header.Set("Cache-Control", "public, max-age=60")
		header.Set("Vary", "accept, accept-encoding")
	case x.request.Method == http.MethodGet:
		header.Set("Cache-Control", "private, no-store")
		header.Set("Vary", "accept, accept-encoding, authorization")
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	x.WriteHeader(x.status)
	_, _ = x.Write(body)
}

// bodyOf returns the JSON of an answer. json.Marshal would parse its data, which is JSON already.
func bodyOf(response *graphql.Response) []byte {
	if len(response.Errors) == 0 {
		return append(append([]byte(`{"data":`), response.Data...), '}')
	}
	body, err := json.Marshal(response.Errors)
	if err != nil { // only for values that JSON cannot express
		panic(err)
	}
	body = append([]byte(`{"errors":`), body...)
	if response.Data != nil {
		body = append(append(body, `,"data":`...), response.Data...)
	}
	return append(body, '}')
}

// isServerFault tells whether the shop is at fault for the answer.
func (x *exchange) isServerFault() bool {
	return shoperr.Code(x.code).IsServerFault() || x.status >= http.StatusInternalServerError
}
