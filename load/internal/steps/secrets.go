package steps

import (
	"cmp"
	"encoding/json"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

var fromEnvironment = regexp.MustCompile(`\$\{env:(\w+)\}`)

// Secrets hides the values that a plan takes from the environment. The zero value hides nothing.
type Secrets struct{ replacer *strings.Replacer }

func secretsOf(plan []byte) Secrets {
	type hidden struct{ written, name string }
	var all []hidden
	for _, found := range fromEnvironment.FindAllSubmatch(plan, -1) {
		value := os.Getenv(string(found[1]))
		if value == "" {
			continue
		}
		for _, written := range []string{value, inJSON(value), url.QueryEscape(value), url.PathEscape(value)} {
			all = append(all, hidden{written, string(found[0])})
		}
	}
	if all == nil {
		return Secrets{}
	}
	// A replacer prefers earlier texts: the beginning of a longer secret would be replaced, and its rest shown.
	slices.SortStableFunc(all, func(a, b hidden) int { return cmp.Compare(len(b.written), len(a.written)) })
	var pairs []string
	for _, one := range all {
		pairs = append(pairs, one.written, one.name)
	}
	return Secrets{strings.NewReplacer(pairs...)}
}

// Hide returns a text with the names of secrets instead of their values.
func (s Secrets) Hide(text string) string {
	if s.replacer == nil {
		return text
	}
	return s.replacer.Replace(text)
}

// HideInJSON does what Hide does, in a JSON text, which stays JSON: a number that has a secret becomes a string.
func (s Secrets) HideInJSON(text []byte) []byte {
	if s.replacer == nil {
		return text
	}
	value, _ := decode(text) // nothing is shown of a text that is not JSON
	return marshal(s.hidden(value))
}

func (s Secrets) hidden(value any) any {
	switch v := value.(type) {
	case map[string]any:
		hidden := make(map[string]any, len(v))
		for key, item := range v {
			hidden[s.Hide(key)] = s.hidden(item)
		}
		return hidden
	case []any:
		for i, item := range v {
			v[i] = s.hidden(item)
		}
	case json.Number:
		if text := s.Hide(v.String()); text != v.String() {
			return text
		}
	case string:
		return s.Hide(v)
	}
	return value
}
