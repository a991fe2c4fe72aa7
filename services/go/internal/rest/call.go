package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"hopwise/services/internal/lists"
	"hopwise/services/internal/readmask"
	"hopwise/services/internal/shoperr"
	"hopwise/services/internal/web"
)

const (
	maxParameters = 20
	maxIDs        = 1_000
)

// surrogate matches an escape that may be half a character.
var surrogate = regexp.MustCompile(`\\u[dD][89a-fA-F]`)

// Call is a request with a well-formed query and body. Its methods read arguments, and keep the first error for Err.
type Call struct {
	Header http.Header
	Item   string // the parameter in the path
	query  url.Values
	body   []byte
	err    error
}

// receive reads a request from an admitted caller.
func receive(ctx context.Context, w http.ResponseWriter, r *http.Request, route *Route, item string) (*Call, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || len(query) > maxParameters {
		return nil, shoperr.Invalid("", "the query cannot be read; at most %d parameters, as name=value, are valid", maxParameters)
	}
	for name, values := range query {
		if !slices.Contains(route.Parameters, name) {
			name = web.Shorten(name)
			return nil, shoperr.Invalid(name, "%s is an unknown query parameter; valid ones: %s", name,
				strings.Join(route.Parameters, ", "))
		}
		if len(values) > 1 {
			return nil, web.RefuseRepetition(name)
		}
	}
	c := &Call{Header: r.Header, Item: item, query: query}
	if !route.HasBody {
		return c, nil
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" && !(strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")) {
		return nil, web.RefuseMediaType("the body must be JSON: send the header Content-Type: application/json")
	}
	if coding := strings.TrimSpace(r.Header.Get("Content-Encoding")); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, web.RefuseMediaType("the body must not be compressed; send it without Content-Encoding")
	}
	c.body, err = web.ReadBody(ctx, w, r)
	if err == nil {
		err = web.CheckObject(c.body, "", "the body")
	}
	return c, err
}

// Err returns the first error of the arguments that were read.
func (c *Call) Err() error { return c.err }

func (c *Call) fail(field, format string, values ...any) {
	if c.err == nil {
		c.err = shoperr.Invalid(field, format, values...)
	}
}

// ID returns the parameter in the path, which is an id.
func (c *Call) ID(name string) int64 { return c.whole(name, c.Item, 1, math.MaxInt64) }

// Has tells whether the query has a parameter.
func (c *Call) Has(name string) bool { return c.query.Has(name) }

// Text returns a parameter of the query; empty if the query does not have it.
func (c *Call) Text(name string) string { return c.query.Get(name) }

// Whole returns a parameter of the query, an integer from least to most, or the fallback if the query does not have it.
func (c *Call) Whole(name string, fallback, least, most int64) int64 {
	if !c.Has(name) {
		return fallback
	}
	return c.whole(name, c.Text(name), least, most)
}

func (c *Call) whole(name, text string, least, most int64) int64 {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || text[0] == '+' || number < least || number > most {
		c.fail(name, "%s is %q; an integer from %d to %d is valid", name, web.Shorten(text), least, most)
	}
	return number
}

// IDs returns the ids of a parameter, with commas between them.
func (c *Call) IDs(name string) []int64 {
	var ids []int64
	if text := c.Text(name); text != "" {
		parts := strings.Split(text, ",")
		if len(parts) <= maxIDs {
			for index, part := range parts {
				ids = append(ids, c.whole(fmt.Sprintf("%s[%d]", name, index), part, 1, math.MaxInt64))
			}
			return ids
		}
	}
	c.fail(name, "%s must have 1 to %d ids with commas between them, as %s=1,2,3", name, maxIDs, name)
	return nil
}

// Includes tells whether the parameter include is present; valid is the only value that it may list.
func (c *Call) Includes(valid string) bool {
	text := c.Text("include")
	for one := range strings.SplitSeq(text, ",") {
		if text != "" && one != valid {
			c.fail("include", "include=%s is not valid; valid: %s", web.Shorten(one), valid)
		}
	}
	return text != ""
}

// Fields returns the mask in the parameter fields, which names fields of a resource; nil for all fields.
func (c *Call) Fields(resource proto.Message) *readmask.Mask {
	if c.Text("fields") == "" {
		return nil
	}
	mask, err := readmask.Parse("fields", strings.Split(c.Text("fields"), ","), resource.ProtoReflect().Descriptor())
	c.err = cmp.Or(c.err, err)
	return mask
}

// RequireAlone checks that a parameter comes without the given others.
func (c *Call) RequireAlone(name string, others ...string) {
	for _, other := range others {
		if c.Text(other) != "" {
			c.fail(other, "leave out %s together with %s", other, name)
		}
	}
}

// Member is a member of a JSON object, with the target of its value or the function that reads it.
type Member struct {
	Name string
	Into any // a pointer, or func(value json.RawMessage, field string)
}

// ReadBody reads the members of the body, and returns the names of those present. Only a change may leave members out.
func (c *Call) ReadBody(isChange bool, members ...Member) []string {
	given := c.ReadObject(c.body, "", isChange, members...)
	if len(given) == 0 && c.err == nil {
		c.fail("", "nothing to change; give at least one of %s", namesOf(members))
	}
	return given
}

// ReadObject reads the members of an object, as ReadBody does; field is the object's name in the body.
func (c *Call) ReadObject(value json.RawMessage, field string, isChange bool, members ...Member) (given []string) {
	var values map[string]json.RawMessage
	if json.Unmarshal(value, &values) != nil || values == nil {
		c.fail(field, "%s must be an object", field)
	}
	for name := range values {
		if !slices.ContainsFunc(members, func(m Member) bool { return m.Name == name }) {
			name = web.Shorten(name)
			c.fail(fieldIn(field, name), "%s is an unknown field; valid ones: %s", name, namesOf(members))
		}
	}
	for _, member := range members {
		name := fieldIn(field, member.Name)
		value, isThere := values[member.Name]
		switch {
		case isThere:
			given = append(given, member.Name)
			c.readValue(value, name, member.Into)
		case !isChange:
			c.fail(name, "%s is required", name)
		}
	}
	return given
}

// ReadList reads the entries of an array; field is the array's name in the body.
func (c *Call) ReadList(value json.RawMessage, field string) (entries []json.RawMessage) {
	if json.Unmarshal(value, &entries) != nil || entries == nil {
		c.fail(field, "%s must be a list", field)
	}
	return entries
}

func (c *Call) readValue(value json.RawMessage, field string, into any) {
	if read, isReader := into.(func(json.RawMessage, string)); isReader {
		read(value, field)
		return
	}
	text, isText := into.(*string)
	switch {
	case string(value) != "null" && json.Unmarshal(value, into) == nil:
		// Go reads half a character as U+FFFD.
		if isText && strings.ContainsRune(*text, utf8.RuneError) && surrogate.Match(value) {
			c.fail(field, "%s contains an invalid character: a lone surrogate", field)
		}
	case isText:
		c.fail(field, "%s must be a text", field)
	default:
		c.fail(field, "%s must be an integer within its limits", field)
	}
}

func fieldIn(object, name string) string {
	if object == "" {
		return name
	}
	return object + "." + name
}

func namesOf(members []Member) string {
	return strings.Join(lists.Map(members, func(m Member) string { return m.Name }), ", ")
}
