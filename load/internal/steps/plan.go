// Package steps runs the journeys of other targets: sequences of HTTP and gRPC requests that a file describes.
package steps

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"

	"hopwise/load/internal/choice"
	"hopwise/load/internal/target"
)

// Format names the layout of the file, which `hopwise load` makes from a target file.
const Format = "hopwise-steps/1"

// Plan describes the journeys of a target.
type Plan struct {
	Format      string            `json:"format"`
	Name        string            `json:"name"`
	File        string            `json:"file"`             // the target file that the plan was made from, for messages
	Workload    json.RawMessage   `json:"workload"`         // arrival, order and mix, in the form of a workload file
	Tables      map[string]*Table `json:"tables,omitempty"` // tables of rows for journeys, by name
	Descriptors map[string][]byte `json:"descriptors"`      // sets of protobuf descriptors, by the name of their file
	Journeys    []*Journey        `json:"journeys"`
	SHA256      string            `json:"-"` // SHA-256 of the file
	Secrets     Secrets           `json:"-"`

	byName map[string]*Journey
	keys   uuid.UUID // makes the keys that journeys send new, however often their tape is sent
}

type Take string

const (
	Once   Take = "once"   // in order, each row for one journey of a tape
	Again  Take = "again"  // in order, starting again after the last row
	Random Take = "random" // drawn with equal probability
)

// Table has the rows of a file that gives journeys their variables.
type Table struct {
	File    string              `json:"file"`
	Take    Take                `json:"take"`
	Columns []string            `json:"columns"`
	Rows    [][]json.RawMessage `json:"rows"`
}

type Journey struct {
	Name  string  `json:"name"`
	Table string  `json:"table,omitempty"` // table from which the journey takes a row; empty for none
	Steps []*Step `json:"steps"`
}

// Step is one request, with what its answer must have, and the variables that later steps take from the answer.
type Step struct {
	Name    string                     `json:"name"`
	Line    int                        `json:"line"` // line in the file
	At      string                     `json:"at"`   // name of the endpoint
	Method  string                     `json:"method,omitempty"`
	Path    string                     `json:"path,omitempty"` // path with its query; a template
	RPC     string                     `json:"rpc,omitempty"`  // package.Service/Method, instead of method and path
	Set     string                     `json:"descriptors,omitempty"`
	Headers map[string]string          `json:"headers,omitempty"` // templates
	JSON    json.RawMessage            `json:"json,omitempty"`    // body or message; a template
	Text    string                     `json:"text,omitempty"`    // body, instead of JSON; a template
	Status  []int                      `json:"status,omitempty"`  // expected statuses; empty for 200 to 299
	Code    string                     `json:"code,omitempty"`    // expected gRPC code; empty for OK
	Equal   map[string]json.RawMessage `json:"equal,omitempty"`   // value at each pointer; a template
	There   []string                   `json:"there,omitempty"`   // pointers
	Absent  []string                   `json:"absent,omitempty"`  // pointers
	Take    map[string]*Source         `json:"take,omitempty"`    // source of each variable
	Ignore  []string                   `json:"ignore,omitempty"`  // pointers excluded from the digest; "" for the whole answer

	Think []float64 `json:"think,omitempty"` // shortest and longest pause before the step, ms; empty for no pause

	NoErrors bool `json:"no_errors,omitempty"` // whether the answer is GraphQL's and must have no errors

	number  int // number within the journey
	secrets Secrets
	file    string
	url     string // URL of the step's endpoint
	path    template
	headers map[string]template
	body    template
	equal   map[string]template
	code    codes.Code
	method  protoreflect.MethodDescriptor // nil until it is found
	types   types
}

// Read reads a plan; the error for a mistake names the target file.
func Read(path string) (*Plan, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("steps: %w", err)
	}
	return Parse(text)
}

// Parse does what Read does, with the bytes of the file.
func Parse(text []byte) (*Plan, error) {
	p := &Plan{byName: map[string]*Journey{}, keys: uuid.New()}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(p); err != nil {
		return nil, fmt.Errorf("steps: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) || p.Format != Format {
		return nil, fmt.Errorf("steps: format is %q, this program reads %q", p.Format, Format)
	}
	sum := sha256.Sum256(text)
	p.SHA256 = hex.EncodeToString(sum[:])
	p.Secrets = secretsOf(text)
	for name, table := range p.Tables {
		if err := choice.Check(table.Take, []Take{Once, Again, Random}, "take", "ways to take rows"); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", p.File, name, err)
		}
	}
	for _, journey := range p.Journeys {
		if err := p.add(journey); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *Plan) add(j *Journey) error {
	known := map[string]bool{Seq: true, Key: true}
	if j.Table != "" {
		table := p.Tables[j.Table]
		if table == nil || len(table.Rows) == 0 {
			return fmt.Errorf("%s: journey %s: the table %q has no rows", p.File, j.Name, j.Table)
		}
		for _, column := range table.Columns {
			known[column] = true
		}
	}
	for i, step := range j.Steps {
		if t := step.Think; len(t) != 0 && (len(t) != 2 || t[0] < 0 || t[1] < t[0]) {
			return fmt.Errorf("%s: journey %s: think %v is not a shortest and a longest pause, in ms", step.where(), j.Name, t)
		}
		step.number, step.file, step.secrets = i, p.File, p.Secrets
		if err := step.prepare(known); err != nil {
			return fmt.Errorf("%s: journey %s: %w", step.where(), j.Name, err)
		}
	}
	p.byName[j.Name] = j
	return nil
}

// Toward sets the steps' endpoints, by name.
func (p *Plan) Toward(endpoints map[string]target.Entry) error {
	for _, journey := range p.Journeys {
		for _, step := range journey.Steps {
			endpoint, there := endpoints[step.At]
			speaks := target.REST
			if step.RPC != "" {
				speaks = target.GRPC
			}
			if !there || endpoint.Protocol != speaks {
				return fmt.Errorf("%s: journey %s, step %s: there is no endpoint %q that speaks %s", step.where(), journey.Name, step.Name, step.At, speaks)
			}
			step.url = endpoint.URL
		}
	}
	return nil
}

func (p *Plan) Has(name string) bool { return p.byName[name] != nil }

func (p *Plan) Names() (names []string) {
	for _, journey := range p.Journeys {
		names = append(names, journey.Name)
	}
	return names
}

func (s *Step) where() string { return fmt.Sprintf("%s:%d", s.file, s.Line) }

// isForm tells whether the body's media type is a form, whose variables are escaped as in a query.
func (s *Step) isForm() bool {
	for name, value := range s.Headers {
		if kind, _, _ := strings.Cut(value, ";"); strings.EqualFold(name, "Content-Type") {
			return strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded")
		}
	}
	return false
}

// prepare reads the step's templates, whose variables must be known, and adds the variables that the step takes.
func (s *Step) prepare(known map[string]bool) (err error) {
	s.headers, s.equal = map[string]template{}, map[string]template{}
	if s.path, err = uriTemplate(s.Path); err != nil {
		return err
	}
	for name, text := range s.Headers {
		if s.headers[name], err = textTemplate(text); err != nil {
			return err
		}
	}
	switch {
	case s.JSON != nil:
		s.body, err = jsonTemplate(s.JSON)
	case s.isForm():
		s.body, err = formTemplate(s.Text)
	default:
		s.body, err = textTemplate(s.Text)
	}
	if err != nil {
		return err
	}
	for pointer, value := range s.Equal {
		if s.equal[pointer], err = jsonTemplate(value); err != nil {
			return err
		}
	}
	if s.Code != "" {
		if err := s.code.UnmarshalJSON(fmt.Appendf(nil, "%q", s.Code)); err != nil {
			return fmt.Errorf("unknown code %q; codes are those of gRPC, such as OK and NOT_FOUND", s.Code)
		}
	}
	for _, t := range append(slices.Collect(maps.Values(s.headers)), append(slices.Collect(maps.Values(s.equal)), s.path, s.body)...) {
		if name, lacking := t.unknown(known); lacking {
			return fmt.Errorf("step %s: nothing gives the variable ${%s}; there are: %s", s.Name, name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	for variable, source := range s.Take {
		if err := source.prepare(); err != nil {
			return fmt.Errorf("step %s: take %s: %w", s.Name, variable, err)
		}
		known[variable] = true
	}
	return nil
}
