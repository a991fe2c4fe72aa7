package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"

	"hopwise/services/internal/guard"
	"hopwise/services/internal/shoperr"
)

const (
	maxBytes  = 64 << 10 // of a body
	maxName   = 40       // characters of a member's name, in an error
	bodyLimit = 5 * time.Second
)

// parameters are the members of a request.
var parameters = []string{"query", "variables", "operationName", "extensions"}

// refusal says why a request is no GraphQL request.
type refusal struct {
	failure *shoperr.Error
	status  int
	header  [2]string // one more header, if it has a name
}

func refusedWith(status int, failure *shoperr.Error) *refusal {
	return &refusal{failure: failure, status: status}
}

func refused(status int, code shoperr.Code, field, format string, values ...any) *refusal {
	return refusedWith(status, shoperr.New(code, field, format, values...))
}

func malformed(field, format string, values ...any) *refusal {
	return refused(http.StatusBadRequest, shoperr.InvalidArgument, field, format, values...)
}

func badMethod(message, allow string) *refusal {
	r := refused(http.StatusMethodNotAllowed, shoperr.InvalidArgument, "", "%s", message)
	r.header = [2]string{"Allow", allow}
	return r
}

// receive reads a request within the limits, whose JSON every reader understands alike; wait is how long the caller waits.
func receive(w http.ResponseWriter, r *http.Request, wait time.Duration) (*graphql.RawParams, *refusal) {
	switch r.Method {
	case http.MethodGet:
		return fromQuery(r.URL.RawQuery)
	case http.MethodPost:
		kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil || kind != mediaJSON {
			return nil, refused(http.StatusUnsupportedMediaType, shoperr.InvalidArgument, "",
				"the content type is '%s'; application/json is valid", kind)
		}
		body, refusal := readBody(w, r, wait)
		if refusal != nil {
			return nil, refusal
		}
		return decoded[graphql.RawParams](body, "", "the body", parameters...)
	}
	return nil, badMethod("only GET and POST are valid", "GET, POST")
}

func readBody(w http.ResponseWriter, r *http.Request, wait time.Duration) ([]byte, *refusal) {
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(min(guard.WorkFor(wait), bodyLimit)))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBytes))
	_ = connection.SetReadDeadline(time.Time{}) // what follows is not bound to it
	var beyond *http.MaxBytesError
	switch {
	case errors.As(err, &beyond):
		return nil, refused(http.StatusRequestEntityTooLarge, shoperr.ResourceExhausted, "",
			"the body is too large; at most %d bytes are valid", maxBytes)
	case errors.Is(err, os.ErrDeadlineExceeded):
		late := refused(http.StatusRequestTimeout, shoperr.DeadlineExceeded, "",
			"the body did not arrive in time; send it faster or allow more time")
		late.header = [2]string{"Connection", "close"}
		return nil, late
	case err != nil:
		return nil, malformed("", "the request ended before its body did")
	}
	return body, nil
}

func fromQuery(text string) (*graphql.RawParams, *refusal) {
	given, _ := url.ParseQuery(text) // what is no pair is left out
	for _, name := range parameters {
		if len(given[name]) > 1 {
			return nil, givenTwice(name)
		}
	}
	params := &graphql.RawParams{Query: given.Get("query"), OperationName: given.Get("operationName")}
	for name, into := range map[string]*map[string]any{"variables": &params.Variables, "extensions": &params.Extensions} {
		if value := given.Get(name); value != "" && value != "null" {
			object, refusal := decoded[map[string]any]([]byte(value), name, name)
			if refusal != nil {
				return nil, refusal
			}
			*into = *object
		}
	}
	return params, nil
}

// decoded returns the JSON object of a text. Each member is there once: of two, one reader would take the first and another
// one the last. Members with one of the names are in its case, which Go's reader would ignore.
func decoded[T any](text []byte, field, what string, names ...string) (*T, *refusal) {
	if !utf8.Valid(text) || !json.Valid(text) {
		return nil, malformed(field, "%s is not JSON", what)
	}
	if bytes.TrimLeft(text, " \t\r\n")[0] != '{' {
		return nil, malformed(field, "%s must be one object, for one operation", what)
	}
	if refusal := checkMembers(numberDecoder(text), names); refusal != nil {
		return nil, refusal
	}
	value := new(T)
	if numberDecoder(text).Decode(value) != nil {
		return nil, malformed(field, "query and operationName must be texts, variables and extensions objects, or null")
	}
	return value, nil
}

// numberDecoder leaves the digits of numbers to the variables' types.
func numberDecoder(text []byte) *json.Decoder {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder
}

// checkMembers looks at the next value, which is valid JSON.
func checkMembers(decoder *json.Decoder, names []string) *refusal {
	token, _ := decoder.Token()
	opening, isOpening := token.(json.Delim)
	if !isOpening {
		return nil
	}
	seen := make(map[string]bool)
	for decoder.More() {
		if opening == '{' {
			token, _ := decoder.Token()
			name := token.(string)
			for _, one := range names {
				if name != one && strings.EqualFold(name, one) {
					return malformed(one, "write %s as it is here", one)
				}
			}
			if seen[name] {
				return givenTwice(name)
			}
			seen[name] = true
		}
		if refusal := checkMembers(decoder, nil); refusal != nil {
			return refusal
		}
	}
	_, _ = decoder.Token() // the closing bracket
	return nil
}

func givenTwice(name string) *refusal {
	shown := []rune(name)
	name = string(shown[:min(len(shown), maxName)])
	return malformed(name, "%s is given twice; give it once", name)
}
