package steps

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/net/http/httpguts"

	"hopwise/load/internal/exchange"
	"hopwise/load/internal/outcome"
)

// Answer has the answers to a journey's steps, not yet in canonical form.
type Answer []answered

type answered struct {
	step   *Step
	status string // HTTP status, or gRPC code
	body   any    // a JSON value, or the digest of another body
	header http.Header
	text   []byte // the body of an answer over HTTP
}

// Run sends a journey's steps, checks each answer, and takes from it what later steps need.
//
// An unexpected answer ends the journey. Redirects are ordinary answers and are not followed. The context's deadline
// includes all pauses of the journey; a step may not use up the time of later pauses.
func (p *Plan) Run(ctx context.Context, name string, values Values, x *exchange.Exchange) (Answer, error) {
	var answer Answer
	drawn := Values{Key: values[Key]} // pauses are the same each time that a tape is sent; keys are not
	left := p.Pauses(name, drawn)
	values[Key] = marshal(uuid.NewSHA1(p.keys, values[Key]).String())
	for _, step := range p.byName[name].Steps {
		pause := step.pause(drawn)
		x.Think(ctx, pause)
		left -= pause
		x.Toward(step.url)
		limited, cancel := before(ctx, left)
		got, err := step.send(limited, values, x)
		late := limited.Err() != nil
		cancel()
		if err == nil {
			err = step.check(got, values)
		}
		if err != nil {
			return nil, &Failure{step, err, late}
		}
		answer = append(answer, got)
	}
	return answer, nil
}

// before returns a context that ends the given time before its parent's deadline.
func before(ctx context.Context, time time.Duration) (context.Context, context.CancelFunc) {
	deadline, limited := ctx.Deadline()
	if time == 0 || !limited {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, deadline.Add(-time))
}

// Failure is the step that ended a journey, with the cause.
type Failure struct {
	step  *Step
	cause error
	late  bool // whether the journey's time was over
}

// IsLate tells whether a journey failed because its time was over.
func IsLate(err error) bool {
	failed := (*Failure)(nil)
	return errors.As(err, &failed) && failed.late
}

// Where names the step, its line in the target file and its endpoint.
func (f *Failure) Where() string {
	return fmt.Sprintf("step %s (%s) at %s", f.step.Name, f.step.where(), f.step.At)
}

func (f *Failure) Error() string { return f.Where() + ": " + f.step.secrets.Hide(f.cause.Error()) }
func (f *Failure) Unwrap() error { return f.cause }

func (s *Step) send(ctx context.Context, values Values, x *exchange.Exchange) (answered, error) {
	if s.RPC != "" {
		return s.call(ctx, values, x)
	}
	uri := s.path.fill(values)
	if !whole.MatchString(s.Path) { // a single variable, such as a Location, includes the base path already
		uri = x.Base().EscapedPath() + uri
	}
	uri, _, _ = strings.Cut(uri, "#") // a Location may have a fragment, which is never sent
	request := exchange.Request{Method: s.Method, Route: s.Path, URI: escapeRest(uri), Header: map[string]string{}}
	for name, value := range s.headers {
		request.Header[name] = value.fill(values)
		if !httpguts.ValidHeaderFieldValue(request.Header[name]) {
			return answered{}, outcome.Failed(outcome.Client, "the header %s cannot have the value %q", name, s.printable(request.Header[name]))
		}
	}
	if body := s.body.fill(values); body != "" {
		request.Body = []byte(body)
	}
	got, err := x.Do(ctx, request)
	if err != nil {
		return answered{}, err
	}
	if err := s.checkStatus(got, x.Base()); err != nil {
		return answered{}, err
	}
	sum := sha256.Sum256(got.Body)
	body := any(hex.EncodeToString(sum[:]))
	if got.JSON() && len(got.Body) > 0 { // some servers send a media type even with 204
		if body, err = decode(got.Body); err != nil {
			return answered{}, outcome.Wrong("the answer is declared as JSON but is not: %w", err)
		}
	} else if s.needsJSON() {
		kind := cmp.Or(got.Type, "of no media type")
		if len(got.Body) == 0 {
			kind = "empty"
		}
		return answered{}, outcome.Wrong("the answer is %s, not JSON: %q", kind, s.printable(string(got.Body)))
	}
	return answered{s, fmt.Sprint(got.Status), body, got.Header, got.Body}, nil
}

func (s *Step) needsJSON() bool {
	for _, source := range s.Take {
		if !source.isText() {
			return true
		}
	}
	return s.NoErrors || len(s.Absent)+len(s.Equal)+len(s.There) > 0
}

func (s *Step) checkStatus(got exchange.Response, base *url.URL) error {
	wanted := "200 to 299"
	expected := got.Status >= 200 && got.Status < 300
	if len(s.Status) > 0 {
		expected, wanted = slices.Contains(s.Status, got.Status), fmt.Sprint(s.Status)
	}
	if expected {
		return nil
	}
	if got.Status >= 300 && got.Status < 400 && got.Header.Get("Location") != "" {
		return s.redirectError(got, base)
	}
	class := outcome.OfStatus(got.Status)
	if class == outcome.OK {
		class = outcome.WrongAnswer
	}
	body := got.Body
	if _, err := decode(body); err == nil && got.JSON() { // JSON can escape a secret's characters in several ways
		body = s.secrets.HideInJSON(body)
	}
	return outcome.Failed(class, "status %d instead of %s: %q", got.Status, wanted, s.printable(string(body)))
}

// redirectError returns the error for a redirect, which is never followed.
func (s *Step) redirectError(got exchange.Response, base *url.URL) error {
	to, err := base.Parse(got.Header.Get("Location"))
	if err == nil && to.Scheme == base.Scheme && exchange.LeadsTo(to, base.Host) {
		return outcome.Wrong("status %d leads to %s; redirects are not followed: give that path, or expect the status", got.Status, to.RequestURI())
	}
	return outcome.Wrong("status %d leads away from the target, to %q; redirects are not followed", got.Status, s.printable(got.Header.Get("Location")))
}

func (s *Step) check(got answered, values Values) error {
	if errors, _ := at(got.body, "/errors"); s.NoErrors && hasAny(errors) {
		return outcome.Wrong("/errors is in the answer: %s", s.printable(string(marshal(errors))))
	}
	for _, pointer := range s.Absent {
		if value, there := at(got.body, pointer); there && value != nil {
			return outcome.Wrong("%s is in the answer: %s", pointer, s.printable(string(marshal(value))))
		}
	}
	for pointer, want := range s.equal {
		value, there := at(got.body, pointer)
		if !there {
			return outcome.Wrong("%s is not in the answer: %s", pointer, s.printable(string(marshal(got.body))))
		}
		wanted, err := decode([]byte(want.fill(values)))
		if err != nil || !equal(value, wanted) {
			return outcome.Wrong("%s is %s instead of %s", pointer, s.printable(string(marshal(value))), s.printable(want.fill(values)))
		}
	}
	for _, pointer := range s.There {
		if _, there := at(got.body, pointer); !there {
			return outcome.Wrong("%s is not in the answer: %s", pointer, s.printable(string(marshal(got.body))))
		}
	}
	for name, source := range s.Take {
		value, there := source.of(got)
		if !there {
			return outcome.Wrong("the variable %s is to be taken from %s, which is not in the answer: %s", name, source, s.printable(source.instead(got)))
		}
		if text, is := value.(string); is && !utf8.ValidString(text) {
			return outcome.Wrong("the variable %s is to be taken from %s, which is not UTF-8: %q", name, source, s.printable(text))
		}
		values[name] = marshal(value)
	}
	return nil
}

const maxShown = 200 // maximum bytes of an answer that an error shows

// printable returns a text from a request or an answer in a form for errors: truncated, and without secrets.
func (s *Step) printable(text string) string {
	hidden := s.secrets.Hide(text)
	if len(hidden) > maxShown {
		hidden = strings.ToValidUTF8(hidden[:maxShown], "")
	}
	return hidden
}

// hasAny tells whether a GraphQL answer has errors. Some servers always send null or an empty list, which do not count.
func hasAny(errors any) bool {
	list, isList := errors.([]any)
	return errors != nil && (!isList || len(list) > 0)
}

// equal tells whether two JSON values are equal; numbers are compared by value.
func equal(one, other any) bool {
	switch v := one.(type) {
	case map[string]any:
		w, is := other.(map[string]any)
		return is && maps.EqualFunc(v, w, equal)
	case []any:
		w, is := other.([]any)
		return is && slices.EqualFunc(v, w, equal)
	case json.Number:
		w, is := other.(json.Number)
		return is && (v == w || equalNumbers(v, w))
	}
	return one == other
}

// digits is the precision of the comparison of numbers in bits: 77 decimal digits.
const digits = 256

func equalNumbers(one, other json.Number) bool {
	left, small := new(big.Float).SetPrec(digits).SetString(one.String())
	right, alsoSmall := new(big.Float).SetPrec(digits).SetString(other.String())
	return small && alsoSmall && left.Cmp(right) == 0
}

// MarshalJSON returns the canonical form: the status of each step and its answer, with canonical numbers and without ignored values.
func (a Answer) MarshalJSON() ([]byte, error) {
	type line struct {
		Answer any    `json:"answer"`
		Status string `json:"status"`
	}
	lines := make([]line, len(a))
	for i, got := range a {
		body := got.body
		for _, pointer := range got.step.Ignore {
			body = without(body, pointer)
		}
		lines[i] = line{canonical(body), got.status}
	}
	return marshal(lines), nil
}

// canonical gives numbers in a value the same digits in the answers of all targets: some write 1.0 and 1.50, others 1 and 1.5.
func canonical(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			v[key] = canonical(item)
		}
	case []any:
		for i, item := range v {
			v[i] = canonical(item)
		}
	case json.Number:
		if text := v.String(); strings.Contains(text, ".") && !strings.ContainsAny(text, "eE") {
			return json.Number(strings.TrimSuffix(strings.TrimRight(text, "0"), "."))
		}
	}
	return value
}

var _ json.Marshaler = Answer{}
