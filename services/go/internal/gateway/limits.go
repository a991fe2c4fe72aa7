package gateway

import (
	"strings"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/lexer"

	"hopwise/services/internal/shoperr"
)

// Limits on a document, measured before it runs; graphql-gateway/README.md has the reasons for them.
const (
	maxCharacters = 16_384
	maxTokens     = 500
	maxPairs      = 3_000
	maxDepth      = 10
	maxAliases    = 20
	maxDigits     = 50
	maxNesting    = 200 // nested brackets
)

func exhausted(format string, values ...any) error {
	return shoperr.New(shoperr.ResourceExhausted, "", format, values...)
}

// tokens counts what a document has, up to its first invalid token or the maximum number of tokens.
type tokens struct {
	dollars, aliases, nesting int
	longNumber                *lexer.Token
}

func scan(text string) (tokens, error) {
	if length := utf8.RuneCountInString(text); length > maxCharacters {
		return tokens{}, exhausted(
			"the document has %d characters; the limit is %d; send values as variables", length, maxCharacters)
	}
	var t tokens
	words, depth, parentheses := lexer.New(&ast.Source{Input: text}), 0, 0
	for range maxTokens {
		token, err := words.ReadToken()
		if err != nil || token.Kind == lexer.EOF {
			break
		}
		switch token.Kind {
		case lexer.Dollar:
			t.dollars++
		case lexer.Colon:
			if parentheses == 0 { // not in arguments and variables
				t.aliases++
			}
		case lexer.ParenL:
			parentheses++
			depth++
		case lexer.ParenR:
			parentheses--
			depth--
		case lexer.BraceL, lexer.BracketL:
			depth++
		case lexer.BraceR, lexer.BracketR:
			depth--
		case lexer.Int, lexer.Float:
			if len(token.Value) > maxDigits && t.longNumber == nil {
				t.longNumber = &token
			}
		}
		t.nesting = max(t.nesting, depth)
	}
	if t.nesting > maxNesting {
		return t, exhausted("the document is nested too deeply to be measured; the limit is a depth of %d", maxDepth)
	}
	return t, nil
}

// measure returns the depth of a document, and the maximum number of pairs that validation compares.
func (t tokens) measure(document *ast.QueryDocument) (depth, pairs int) {
	names := make(map[string]int)
	var count func(ast.SelectionSet)
	count = func(set ast.SelectionSet) {
		for _, one := range set {
			switch one := one.(type) {
			case *ast.Field:
				names[one.Alias]++
				count(one.SelectionSet)
			case *ast.InlineFragment:
				count(one.SelectionSet)
			case *ast.FragmentSpread:
				names["..."]++ // validation compares each fragment with every other
			}
		}
	}
	depths := make(map[string]int)
	for _, operation := range document.Operations {
		count(operation.SelectionSet)
		depth = max(depth, depthOf(operation.SelectionSet, document, depths))
	}
	for _, fragment := range document.Fragments {
		count(fragment.SelectionSet)
	}
	for _, times := range names {
		pairs += times * (times - 1) / 2
	}
	return depth, pairs + len(document.Operations)*t.dollars
}

func (t tokens) check(document *ast.QueryDocument) error {
	if n := t.longNumber; n != nil {
		return exhausted("the number at line %d, column %d has %d digits; the limit is %d",
			n.Pos.Line, n.Pos.Column, len(n.Value), maxDigits)
	}
	switch depth, pairs := t.measure(document); {
	case t.aliases > maxAliases:
		return exhausted("the document has %d aliases; the limit is %d", t.aliases, maxAliases)
	case depth > maxDepth:
		return exhausted("the operation has a depth of %d; the limit is %d", depth, maxDepth)
	case pairs > maxPairs:
		return exhausted("the document has %d pairs of fields with the same name, of fragment spreads, or of operations "+
			"and variables; the limit is %d; ask for each field once", pairs, maxPairs)
	}
	return nil
}

// depthOf measures each fragment once; a fragment that spreads itself, which validation refuses, has depth 0 inside
// itself.
func depthOf(set ast.SelectionSet, document *ast.QueryDocument, depths map[string]int) int {
	deepest := 0
	for _, one := range set {
		depth := 0
		switch one := one.(type) {
		case *ast.Field:
			depth = 1
			if !strings.HasPrefix(one.Name, "__") { // introspection does not count
				depth += depthOf(one.SelectionSet, document, depths)
			}
		case *ast.InlineFragment:
			depth = depthOf(one.SelectionSet, document, depths)
		case *ast.FragmentSpread:
			known, isKnown := depths[one.Name]
			if fragment := document.Fragments.ForName(one.Name); !isKnown && fragment != nil {
				depths[one.Name] = 0
				known = depthOf(fragment.SelectionSet, document, depths)
				depths[one.Name] = known
			}
			depth = known
		}
		deepest = max(deepest, depth)
	}
	return deepest
}
