package steps

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"hopwise/load/internal/jsonline"
)

const (
	Seq = "seq" // the journey's number on the tape
	Key = "key" // a UUID that is new in each journey that is sent
)

// environment is the prefix of variables from the generator's environment, for tokens, which should not be in files.
const environment = "env:"

// Values are a journey's variables, each a JSON value.
type Values map[string]json.RawMessage

// text returns a variable for use in a text: a JSON string without its quotes, and any other value unchanged.
func (v Values) text(name string) string {
	var text string
	if json.Unmarshal(v[name], &text) == nil {
		return text
	}
	return string(v[name])
}

type template []piece

// piece is a text, or a variable in the form that its place requires.
type piece struct {
	literal  string
	variable string
	form     func(Values, string) string
}

func asText(v Values, name string) string  { return v.text(name) }
func asPath(v Values, name string) string  { return url.PathEscape(v.text(name)) }
func asQuery(v Values, name string) string { return url.QueryEscape(v.text(name)) }
func asValue(v Values, name string) string { return string(v[name]) }
func asPart(v Values, name string) string  { return inJSON(v.text(name)) }

// inJSON returns a text as it is within a JSON string.
func inJSON(text string) string {
	quoted := marshal(text)
	return string(quoted[1 : len(quoted)-1])
}

var (
	placeholder = regexp.MustCompile(`\$\$\{|\$\{([^}]*)\}?`)
	whole       = regexp.MustCompile(`^\$\{((?:env:)?\w+)\}$`)
	variable    = regexp.MustCompile(`^(?:env:)?\w+$`)
)

// secret returns the value of an environment variable as JSON, and whether the name stands for such a variable. The
// template holds the value as text, which is not written anywhere.
func secret(name string) (value json.RawMessage, is bool, err error) {
	of, is := strings.CutPrefix(name, environment)
	if !is {
		return nil, false, nil
	}
	text, there := os.LookupEnv(of)
	if !there {
		return nil, true, fmt.Errorf("the environment has no %s, which ${%s} stands for", of, name)
	}
	return marshal(text), true, nil
}

// split cuts a text at its variables; `$${` stands for `${`.
func split(text string, literal func(string) string, form func(Values, string) string) (t template, err error) {
	rest := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		t = append(t, piece{literal: literal(text[rest:at[0]])})
		rest = at[1]
		if at[2] < 0 {
			t = append(t, piece{literal: literal("${")})
			continue
		}
		name := text[at[2]:at[3]]
		if !variable.MatchString(name) || text[at[1]-1] != '}' {
			return nil, fmt.Errorf("%q is not a variable: ${name}, with letters, digits and underscores, or ${env:NAME}; $${ stands for ${", text[at[0]:at[1]])
		}
		value, is, err := secret(name)
		if err != nil {
			return nil, err
		}
		if is {
			t = append(t, piece{literal: form(Values{name: value}, name)})
			continue
		}
		t = append(t, piece{variable: name, form: form})
	}
	return append(t, piece{literal: literal(text[rest:])}), nil
}

func same(text string) string                    { return text }
func textTemplate(text string) (template, error) { return split(text, same, asText) }

// uriTemplate escapes variables for a path and, after the question mark, for a query. A template that consists only of
// a variable becomes that variable's text, which is escaped already, like a Location.
func uriTemplate(text string) (template, error) {
	if whole.MatchString(text) {
		return textTemplate(text)
	}
	path, query, asks := strings.Cut(text, "?")
	t, err := split(path, same, asPath)
	if err != nil || !asks {
		return t, err
	}
	more, err := split(query, same, asQuery)
	return append(append(t, piece{literal: "?"}), more...), err
}

// formTemplate escapes variables for a form; a form that consists only of a variable becomes that variable's text.
func formTemplate(text string) (template, error) {
	if whole.MatchString(text) {
		return textTemplate(text)
	}
	return split(text, same, asQuery)
}

var unescaped = regexp.MustCompile("[^\x00-\x7f]|[ \"<>\\\\^`{|}]")

// escapeRest escapes what an address may not contain. net/url would escape the whole path again, and turn %2F into a slash.
func escapeRest(uri string) string { return unescaped.ReplaceAllStringFunc(uri, url.PathEscape) }

// jsonTemplate has variables inside JSON strings; a string that is only a variable becomes the variable's value.
func jsonTemplate(text json.RawMessage) (template, error) {
	value, err := decode(text)
	if err != nil {
		return nil, err
	}
	return compile(nil, value)
}

func compile(t template, value any) (_ template, err error) {
	literal := func(text string) { t = append(t, piece{literal: text}) }
	switch v := value.(type) {
	case map[string]any:
		literal("{")
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				literal(",")
			}
			literal(string(marshal(key)) + ":")
			if t, err = compile(t, v[key]); err != nil {
				return nil, err
			}
		}
		literal("}")
	case []any:
		literal("[")
		for i, item := range v {
			if i > 0 {
				literal(",")
			}
			if t, err = compile(t, item); err != nil {
				return nil, err
			}
		}
		literal("]")
	case string:
		if name := whole.FindStringSubmatch(v); name != nil {
			value, is, err := secret(name[1])
			if is {
				return append(t, piece{literal: string(value)}), err
			}
			return append(t, piece{variable: name[1], form: asValue}), nil
		}
		parts, err := split(v, inJSON, asPart)
		if err != nil {
			return nil, err
		}
		literal(`"`)
		t = append(t, parts...)
		literal(`"`)
	default:
		literal(string(marshal(v)))
	}
	return t, nil
}

func (t template) unknown(known map[string]bool) (name string, lacking bool) {
	for _, p := range t {
		if p.variable != "" && !known[p.variable] {
			return p.variable, true
		}
	}
	return "", false
}

func (t template) fill(v Values) string {
	var text strings.Builder
	for _, p := range t {
		if p.variable == "" {
			text.WriteString(p.literal)
		} else {
			text.WriteString(p.form(v, p.variable))
		}
	}
	return text.String()
}

// decode reads one JSON value, whose numbers keep all their digits.
func decode(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return value, nil
}

// marshal encodes a value that was decoded: with sorted keys, without spaces, and with UTF-8 unescaped.
func marshal(value any) []byte {
	text, _ := jsonline.Of(value) // decoded values can be encoded
	return text
}
