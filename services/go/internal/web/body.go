// Package web reads HTTP requests and traces them, for the GraphQL gateway and for REST.
package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"hopwise/services/internal/guard"
	"hopwise/services/internal/shoperr"
)

const (
	maxBytes  = 64 << 10 // of a body
	maxName   = 40       // characters of a member's name, in an error
	bodyLimit = 5 * time.Second
)

// Refusal is an error as HTTP's clients get it. The status of an error of HTTP itself does not follow from the error's
// code.
type Refusal struct {
	Failure *shoperr.Error
	Status  int
	Header  [2]string // name and value of an additional header; empty for none
}

func (r *Refusal) Error() string { return r.Failure.Error() }

// Unwrap returns the error for clients of every protocol.
func (r *Refusal) Unwrap() error { return r.Failure }

// RefusalOf returns an error in the form for clients, with its status.
func RefusalOf(ctx context.Context, err error) *Refusal {
	refusal := new(Refusal)
	if errors.As(err, &refusal) {
		return refusal
	}
	failure := guard.ClientError(ctx, err)
	return &Refusal{Failure: failure, Status: failure.Code.HTTPStatus()}
}

// RefuseMethod refuses a request because of its method; allow lists the valid methods.
func RefuseMethod(message, allow string) *Refusal {
	return &Refusal{shoperr.Invalid("", "%s", message), http.StatusMethodNotAllowed, [2]string{"Allow", allow}}
}

// RefuseMediaType refuses a body that is not JSON.
func RefuseMediaType(format string, values ...any) *Refusal {
	return &Refusal{Failure: shoperr.Invalid("", format, values...), Status: http.StatusUnsupportedMediaType}
}

// ReadBody reads a body within the limits of size and time.
func ReadBody(ctx context.Context, w http.ResponseWriter, r *http.Request) ([]byte, error) {
	last := time.Now().Add(bodyLimit)
	if deadline, has := ctx.Deadline(); has && deadline.Before(last) {
		last = deadline
	}
	_ = http.NewResponseController(w).SetReadDeadline(last)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBytes))
	var beyond *http.MaxBytesError
	switch {
	case errors.As(err, &beyond):
		return nil, shoperr.New(shoperr.ResourceExhausted, "", "the body is too large; at most %d bytes are valid", maxBytes)
	case errors.Is(err, os.ErrDeadlineExceeded):
		late := shoperr.New(shoperr.DeadlineExceeded, "", "the body did not arrive in time; send it faster or allow more time")
		return nil, &Refusal{late, http.StatusRequestTimeout, [2]string{"Connection", "close"}}
	case err != nil:
		return nil, shoperr.Invalid("", "the request ended before its body did")
	}
	return body, nil
}

// CheckObject checks that a text is one JSON object with unique members: of two equal members, one reader would take
// the first and another the last. It also checks the case of names, which Go's reader would ignore.
func CheckObject(text []byte, field, what string, names ...string) error {
	if !utf8.Valid(text) || !json.Valid(text) {
		return shoperr.Invalid(field, "%s is not JSON", what)
	}
	if bytes.TrimLeft(text, " \t\r\n")[0] != '{' {
		return shoperr.Invalid(field, "%s must be one object", what)
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
func checkMembers(decoder *json.Decoder, names []string) error {
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
					return shoperr.Invalid(one, "write %s as it is here", one)
				}
			}
			if seen[name] {
				return RefuseRepetition(name)
			}
			seen[name] = true
		}
		if err := checkMembers(decoder, nil); err != nil {
			return err
		}
	}
	_, _ = decoder.Token() // the closing bracket
	return nil
}

// RefuseRepetition refuses a request because of a repeated member or parameter.
func RefuseRepetition(name string) error {
	name = Shorten(name)
	return shoperr.Invalid(name, "%s is given twice; give it once", name)
}

// Shorten returns the beginning of a client's text, for an error.
func Shorten(text string) string { return Cut(text, maxName) }

// Cut returns the beginning of a client's text, up to a number of characters.
func Cut(text string, most int) string { return fmt.Sprintf("%.*s", most, text) }
