package steps

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Source says where an answer has the value of a variable: at a pointer, in a header or in a cookie. If only an
// expression is given, it is matched against the whole body.
type Source struct {
	Pointer string `json:"pointer,omitempty"`
	Header  string `json:"header,omitempty"`
	Cookie  string `json:"cookie,omitempty"`
	Match   string `json:"match,omitempty"` // expression whose group is taken from the text

	match *regexp.Regexp
}

func (s *Source) isText() bool { return cmp.Or(s.Header, s.Cookie, s.Match) != "" }

func (s *Source) String() string {
	text := s.Pointer
	switch {
	case s.Header != "":
		text = "the header " + s.Header
	case s.Cookie != "":
		text = "the cookie " + s.Cookie
	case s.Match != "":
		text = "the body"
	}
	if s.Match != "" {
		text += fmt.Sprintf(" by %q", s.Match)
	}
	return text
}

func (s *Source) prepare() (err error) {
	if s.Match == "" {
		return nil
	}
	if s.match, err = regexp.Compile(s.Match); err == nil && s.match.NumSubexp() != 1 {
		err = fmt.Errorf("match %q has %d groups; give one, around what is to be taken: id=(\\d+)", s.Match, s.match.NumSubexp())
	}
	return err
}

// of returns the variable's value, and whether the answer has it.
func (s *Source) of(got answered) (value any, there bool) {
	if !s.isText() {
		return at(got.body, s.Pointer)
	}
	for _, text := range s.texts(got) {
		if s.match == nil {
			return text, true
		}
		if found := s.match.FindStringSubmatchIndex(text); found != nil && found[2] >= 0 { // the group may be in a branch that did not match
			return text[found[2]:found[3]], true
		}
	}
	return nil, false
}

func (s *Source) texts(got answered) (texts []string) {
	switch {
	case s.Header != "":
		return got.header.Values(s.Header)
	case s.Cookie != "":
		if value, set := cookie(got.header, s.Cookie); set {
			texts = append(texts, value)
		}
		return texts
	default:
		return []string{string(got.text)}
	}
}

func (s *Source) instead(got answered) string {
	switch {
	case s.Header != "" && len(got.header.Values(s.Header)) == 0:
		return "its headers are " + cmp.Or(strings.Join(slices.Sorted(maps.Keys(got.header)), ", "), "none")
	case s.Header == "" && s.Cookie != "" && len(s.texts(got)) == 0:
		return "its cookies are " + cmp.Or(strings.Join(cookies(got.header), ", "), "none")
	case s.isText():
		return fmt.Sprintf("%q", strings.Join(s.texts(got), ", "))
	}
	return string(marshal(got.body))
}

// cookie returns the value that a browser keeps: the value in the last header for the cookie, unchanged, quotes
// included. It returns no value if that header deletes the cookie.
func cookie(header http.Header, name string) (value string, set bool) {
	for _, line := range header.Values("Set-Cookie") {
		pair, attributes, _ := strings.Cut(line, ";")
		if key, given, is := strings.Cut(pair, "="); is && strings.TrimSpace(key) == name {
			value, set = strings.TrimSpace(given), !deletes(attributes)
		}
	}
	return value, set
}

func cookies(header http.Header) (names []string) {
	for _, line := range header.Values("Set-Cookie") {
		name, _, _ := strings.Cut(line, "=")
		if _, kept := cookie(header, strings.TrimSpace(name)); !kept {
			name += " (deleted)"
		}
		names = append(names, strings.TrimSpace(name))
	}
	return names
}

func deletes(attributes string) bool {
	read, err := http.ParseSetCookie("x=;" + attributes)
	if err != nil {
		return false
	}
	return read.MaxAge < 0 || read.MaxAge == 0 && !read.Expires.IsZero() && read.Expires.Before(time.Now())
}
