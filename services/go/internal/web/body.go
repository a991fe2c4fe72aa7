// Package web reads HTTP requests and traces them, for the GraphQL gateway and for REST.
package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"hopwise/services/internal/shoperr"
)

const (
	maxBytes  = 64 << 10 // of a body
	maxName   = 40       // characters of a member's name, in an error
	bodyLimit = 5 * time.Second
)

// Refusal is an error of HTTP itself, with a status that does not follow from the error's code.
type Refusal struct {
	Failure *shoperr.Error
	Status  int
	Header  [2]string // name and value of an additional header; empty for none
}

func (r *Refusal) Error() string { return r.Failure.Error() }

// Unwrap returns the error for clients of every protocol.
func (r *Refusal) Unwrap() error { return r.Failure }

// Refuse returns a refusal; field may be empty.
func Refuse(status int, code shoperr.Code, field, format string, values ...any) *Refusal {
	return &Refusal{Failure: shoperr.New(code, field, format, values...), Status: status}
}

// RefuseContent refuses a request because of its content; field may be empty.
func RefuseContent(field, format string, values ...any) *Refusal {
	return Refuse(http.StatusBadRequest, shoperr.InvalidArgument, field, format, values...)
}

// RefuseMethod refuses a request because of its method; allow lists the valid methods.
func RefuseMethod(message, allow string) *Refusal {
	r := Refuse(http.StatusMethodNotAllowed, shoperr.InvalidArgument, "", "%s", message)
	r.Header = [2]string{"Allow", allow}
	return r
}

// RefuseMediaType refuses a body that is not JSON.
func RefuseMediaType(format string, values ...any) *Refusal {
	return Refuse(http.StatusUnsupportedMediaType, shoperr.InvalidArgument, "", format, values...)
}

// ReadBody reads a body within the limits of size and time.
func ReadBody(ctx context.Context, w http.ResponseWriter, r *http.Request) ([]byte, *Refusal) {
	last := time.Now().Add(bodyLimit)
	if deadline, has := ctx.Deadline(); has && deadline.Before(last) {
		last = deadline
	}
	_ = http.NewResponseController(w).SetReadDeadline(last)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBytes))
	var beyond *http.MaxBytesError
	switch {
	case errors.As(err, &beyond):
		return nil, Refuse(http.StatusRequestEntityTooLarge, shoperr.ResourceExhausted, "",
			"the body is too large; at most %d bytes are valid", maxBytes)
	case errors.Is(err, os.ErrDeadlineExceeded):
		late := Refuse(http.StatusRequestTimeout, shoperr.DeadlineExceeded, "",
			"the body did not arrive in time; send it faster or allow more time")
		late.Header = [2]string{"Connection", "close"}
		return nil, late
	case err != nil:
		return nil, RefuseContent("", "the request ended before its body did")
	}
	return body, nil
}

// CheckObject checks that a text is one JSON object with unique members: of two equal members, one reader would take
// the first and another the last. It also checks the case of names, which Go's reader would ignore.
func CheckObject(text []byte, field, what string, names ...string) *Refusal {
	if !utf8.Valid(text) || !json.Valid(text) {
		return RefuseContent(field, "%s is not JSON", what)
	}
	if bytes.TrimLeft(text, " \t\r\n")[0] != '{' {
		return RefuseContent(field, "%s must be one object", what)
	}
	return checkMembers(NumberDecoder(text), names)
}

// NumberDecoder leaves the digits of numbers as they are.
func NumberDecoder(text []byte) *json.Decoder {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder
}

// checkMembers checks the next value, which is valid JSON.
func checkMembers(decoder *json.Decoder, names []string) *Refusal {
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
					return RefuseContent(one, "write %s as it is here", one)
				}
			}
			if seen[name] {
				return RefuseRepetition(name)
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

// RefuseRepetition refuses a request because of a repeated member or parameter.
func RefuseRepetition(name string) *Refusal {
	name = Shorten(name)
	return RefuseContent(name, "%s is given twice; give it once", name)
}

// Shorten returns the beginning of a client's text, for an error.
func Shorten(text string) string { return Cut(text, maxName) }

// Cut returns the beginning of a client's text, up to a number of characters.
func Cut(text string, most int) string {
	characters := []rune(text)
	return string(characters[:min(len(characters), most)])
}
