package steps

import (
	"net/url"
	"os"
	"regexp"
	"strings"
)

var fromEnvironment = regexp.MustCompile(`\$\{env:(\w+)\}`)

// Secrets hides the values that a plan takes from the environment. The zero value hides nothing.
type Secrets struct{ replacer *strings.Replacer }

func secretsOf(plan []byte) Secrets {
	var pairs []string
	for _, found := range fromEnvironment.FindAllSubmatch(plan, -1) {
		value := os.Getenv(string(found[1]))
		if value == "" {
			continue
		}
		for _, written := range []string{value, inJSON(value), url.QueryEscape(value), url.PathEscape(value)} {
			pairs = append(pairs, written, string(found[0]))
		}
	}
	if pairs == nil {
		return Secrets{}
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
