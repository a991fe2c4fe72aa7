package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"hopwise/services/internal/guard"
	"hopwise/services/internal/shoperr"
)

const (
	mostBytes = 64 << 10 // of a body
	mostName  = 40       // characters of a member's name, in an error
	bodyLimit = 5 * time.Second
)

var sha256Form = regexp.MustCompile(`^[0-9a-f]{64}$`)

// request is what a client asks for; either text may be missing.
type request struct {
	query, sha256 *string
	variables     map[string]any
	operationName string
}

// refusal says why a request is no GraphQL request.
type refusal struct {
	failure *shoperr.Error
	status  int
	header  [2]string // one more header, if it has a name
}

func (r *refusal) Error() string { return r.failure.Error() }

func refused(status int, code shoperr.Code, field, format string, values ...any) *refusal {
	return &refusal{failure: shoperr.New(code, field, format, values...), status: status}
}

func malformed(field, format string, values ...any) *refusal {
	return refused(http.StatusBadRequest, shoperr.InvalidArgument, field, format, values...)
}

func badMethod(message, allow string) *refusal {
	r := refused(http.StatusMethodNotAllowed, shoperr.InvalidArgument, "", "%s", message)
	r.header = [2]string{"Allow", allow}
	return r
}

// received reads a request; wait is how long its caller waits.
func received(w http.ResponseWriter, r *http.Request, wait time.Duration) (*request, error) {
	switch r.Method {
	case http.MethodGet:
		return fromQuery(r.URL.RawQuery)
	case http.MethodPost:
		kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
		if kind = strings.ToLower(strings.TrimSpace(kind)); kind != mediaJSON {
			return nil, refused(http.StatusUnsupportedMediaType, shoperr.InvalidArgument, "",
				"the content type is '%s'; application/json is valid", kind)
		}
		body, err := readBody(w, r, wait)
		if err != nil {
			return nil, err
		}
		parameters, err := decoded(body, "", "the body")
		if err != nil {
			return nil, err
		}
		if _, isList := parameters.([]any); isList {
			return nil, malformed("", "the body is a list of operations, which is not supported; send one request for each")
		}
		return checked(parameters, "the body")
	}
	return nil, badMethod("only GET and POST are valid", "GET, POST")
}

func readBody(w http.ResponseWriter, r *http.Request, wait time.Duration) ([]byte, error) {
	tooLarge := refused(http.StatusRequestEntityTooLarge, shoperr.ResourceExhausted, "",
		"the body is too large; at most %d bytes are valid", mostBytes)
	if r.ContentLength > mostBytes {
		return nil, tooLarge
	}
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(min(guard.WorkFor(wait), bodyLimit)))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBytes))
	_ = connection.SetReadDeadline(time.Time{}) // what follows is not bound to it
	var beyond *http.MaxBytesError
	switch {
	case errors.As(err, &beyond):
		return nil, tooLarge
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

// decoded returns the value of a JSON text, of which what and field are the names. Each member of an object is there once:
// of two, one reader would take the first and another the last.
func decoded(text []byte, field, what string) (value any, err error) {
	decoder := numberDecoder(text)
	if !utf8.Valid(text) {
		err = errors.New("it is not UTF-8")
	} else if err = decoder.Decode(&value); err == nil {
		if _, after := decoder.Token(); !errors.Is(after, io.EOF) {
			err = errors.New("there is something behind it")
		}
	}
	if err != nil {
		return nil, malformed(field, "%s is not JSON: %s", what, err)
	}
	return value, checkMembers(numberDecoder(text))
}

// numberDecoder leaves the digits of numbers to the variables' types.
func numberDecoder(text []byte) *json.Decoder {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder
}

// checkMembers refuses a member that is given twice anywhere in the next value.
func checkMembers(decoder *json.Decoder) error {
	token, err := decoder.Token()
	opening, isOpening := token.(json.Delim)
	if err != nil || !isOpening {
		return err
	}
	seen := make(map[json.Token]bool)
	for decoder.More() {
		if opening == '{' {
			name, err := decoder.Token()
			if err != nil {
				return err
			}
			if seen[name] {
				twice := []rune(name.(string))
				return givenTwice(string(twice[:min(len(twice), mostName)]))
			}
			seen[name] = true
		}
		if err := checkMembers(decoder); err != nil {
			return err
		}
	}
	_, err = decoder.Token()
	return err
}

func givenTwice(name string) error { return malformed(name, "%s is given twice; give it once", name) }

func fromQuery(query string) (*request, error) {
	given, _ := url.ParseQuery(query) // what is no pair is left out
	parameters := make(map[string]any, len(given))
	for _, name := range []string{"query", "variables", "operationName", "extensions"} {
		values := given[name]
		if len(values) == 0 {
			continue
		}
		if len(values) > 1 {
			return nil, givenTwice(name)
		}
		parameters[name] = values[0]
		if name == "variables" || name == "extensions" {
			value, err := decoded([]byte(values[0]), name, name)
			if err != nil {
				return nil, err
			}
			parameters[name] = value
		}
	}
	return checked(parameters, "the query string")
}

func checked(given any, where string) (*request, error) {
	parameters, isObject := given.(map[string]any)
	if !isObject {
		return nil, malformed("", "%s must be an object with query, variables, operationName and extensions", where)
	}
	r := new(request)
	var name *string
	var extensions map[string]any
	for _, err := range []error{
		typed(parameters, "query", "a text", func(text string) { r.query = &text }),
		typed(parameters, "variables", "an object", func(object map[string]any) { r.variables = object }),
		typed(parameters, "operationName", "a text", func(text string) { name = &text }),
		typed(parameters, "extensions", "an object", func(object map[string]any) { extensions = object }),
	} {
		if err != nil {
			return nil, err
		}
	}
	if name != nil {
		r.operationName = *name
	}
	persisted, isAsked := extensions["persistedQuery"]
	if !isAsked || persisted == nil {
		return r, nil
	}
	const field = "extensions.persistedQuery"
	object, _ := persisted.(map[string]any)
	if fmt.Sprint(object["version"]) != "1" {
		return nil, malformed(field, `%s must be an object {"version": 1, "sha256Hash": "..."}`, field)
	}
	hash, _ := object["sha256Hash"].(string)
	if !sha256Form.MatchString(hash) {
		return nil, malformed(field+".sha256Hash", "%s.sha256Hash must be 64 lower-case hexadecimal digits", field)
	}
	r.sha256 = &hash
	return r, nil
}

// typed hands a parameter on that is there and of its type.
func typed[T any](parameters map[string]any, name, what string, take func(T)) error {
	value, isOf := parameters[name].(T)
	if isOf {
		take(value)
	} else if parameters[name] != nil {
		return malformed(name, "%s must be %s or null", name, what)
	}
	return nil
}
