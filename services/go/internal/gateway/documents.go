package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
	"go.opentelemetry.io/otel/trace"

	"hopwise/services/internal/shoperr"
)

const (
	mostDocuments = 128
	mostErrors    = 5 // mistakes of a document that its sender is told
	// rest is how long documents that are not known yet wait after one was prepared, in times of what it took, so that a
	// flood of them takes little from those who send known ones.
	rest = 8
)

// validation has the specification's rules; suggestions would cost more than all the rest.
var validation = func() *rules.Rules {
	all := rules.NewDefaultRules()
	for _, rule := range []validator.Rule{
		rules.FieldsOnCorrectTypeRuleWithoutSuggestions, rules.KnownArgumentNamesRuleWithoutSuggestions,
		rules.KnownTypeNamesRuleWithoutSuggestions, rules.ScalarLeafsRuleWithoutSuggestions,
		rules.ValuesOfCorrectTypeRuleWithoutSuggestions,
	} {
		all.ReplaceRule(strings.TrimSuffix(rule.Name, "WithoutSuggestions"), rule.RuleFunc)
	}
	return all
}()

// document is ready to be executed.
type document struct {
	*ast.QueryDocument
	isPublic bool // whether everyone gets the same answer
}

// documents turns what clients send into documents that can be executed. Those sent by text and those persisted by hash
// are kept apart, so that no flood of texts drives out the latter.
type documents struct {
	schema         *ast.Schema
	tracer         trace.Tracer
	byText, byHash *lru.Cache[string, *document]
	turn           chan struct{} // has its one element while no document is prepared
	restsUntil     time.Time
}

func newDocuments(schema *ast.Schema, tracer trace.Tracer) *documents {
	byText, _ := lru.New[string, *document](mostDocuments) // fails for a size below 1
	byHash, _ := lru.New[string, *document](mostDocuments)
	d := &documents{schema: schema, tracer: tracer, byText: byText, byHash: byHash, turn: make(chan struct{}, 1)}
	d.turn <- struct{}{}
	return d
}

// find returns the document of a request: its text, or the SHA-256 of one that came before, or both to have it persisted.
func (d *documents) find(ctx context.Context, text, hash *string) (*document, error) {
	if hash == nil {
		if text == nil {
			return nil, shoperr.New(shoperr.InvalidArgument, "query", "query is missing; send the GraphQL document as its text")
		}
		return d.ofText(ctx, *text)
	}
	known, isKnown := d.byHash.Get(*hash)
	if text == nil {
		if !isKnown {
			return nil, errPersistedQueryNotFound
		}
		return known, nil
	}
	if sum := sha256.Sum256([]byte(*text)); hex.EncodeToString(sum[:]) != *hash {
		return nil, shoperr.New(shoperr.InvalidArgument, "extensions.persistedQuery.sha256Hash",
			"sha256Hash is not the SHA-256 of query, in lower-case hexadecimal")
	}
	if isKnown {
		return known, nil
	}
	made, err := d.ofText(ctx, *text)
	if err == nil {
		d.byHash.Add(*hash, made)
	}
	return made, err
}

func (d *documents) ofText(ctx context.Context, text string) (*document, error) {
	if known, isKnown := d.byText.Get(text); isKnown {
		return known, nil
	}
	select {
	case <-d.turn:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { d.turn <- struct{}{} }()
	if known, isKnown := d.byText.Get(text); isKnown {
		return known, nil
	}
	select {
	case <-time.After(time.Until(d.restsUntil)):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	began := time.Now()
	made, err := d.prepare(ctx, text)
	d.restsUntil = time.Now().Add(rest * time.Since(began))
	if err == nil {
		d.byText.Add(text, made)
	}
	return made, err
}

func (d *documents) prepare(ctx context.Context, text string) (*document, error) {
	parsed, err := d.parse(ctx, text)
	if err != nil {
		return nil, err
	}
	_, span := d.tracer.Start(ctx, "graphql.validate")
	mistakes := validator.ValidateWithRules(d.schema, parsed, validation)
	span.End()
	if len(mistakes) > mostErrors {
		mistakes = append(mistakes[:mostErrors],
			gqlerror.Errorf("Too many validation errors, error limit reached. Validation aborted."))
	}
	for _, mistake := range mistakes {
		mistake.Message = strings.ReplaceAll(mistake.Message, `"`, "'") // as the gateway in Python quotes
	}
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	if len(parsed.Operations) == 0 {
		return nil, shoperr.New(shoperr.InvalidArgument, "query", "the document has no operation; add a query or a mutation")
	}
	return &document{parsed, isPublic(parsed)}, nil
}

func (d *documents) parse(ctx context.Context, text string) (*ast.QueryDocument, error) {
	_, span := d.tracer.Start(ctx, "graphql.parse")
	defer span.End()
	words, err := scan(text)
	if err != nil {
		return nil, err
	}
	document, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, mostTokens)
	if err == nil && len(document.Operations)+len(document.Fragments) == 0 {
		err = gqlerror.Errorf("Unexpected <EOF>.")
	}
	if err == nil {
		return document, words.check(document)
	}
	mistake := gqlerror.WrapIfUnwrapped(err)
	if strings.Contains(mistake.Message, "exceeded token limit") {
		return nil, exhausted("the document has more than %d tokens, which is the limit", mostTokens)
	}
	mistake.Message = "Syntax Error: " + strings.ReplaceAll(mistake.Message, `"`, "'")
	return nil, gqlerror.List{mistake}
}

// operationOf returns the operation to run; its name may be left out if there is only one.
func operationOf(document *ast.QueryDocument, name string) (*ast.OperationDefinition, error) {
	if name == "" && len(document.Operations) == 1 {
		return document.Operations[0], nil
	}
	var names []string
	for _, operation := range document.Operations {
		if operation.Name == name && name != "" {
			return operation, nil
		}
		names = append(names, operation.Name)
	}
	message, valid := "the document has several operations, so operationName is needed: ", strings.Join(names, ", ")
	switch {
	case name != "" && valid == "":
		message = "operationName is '" + name + "'; the document's operation has no name"
	case name != "":
		message = "operationName is '" + name + "'; the document has the operations "
	}
	return nil, shoperr.New(shoperr.InvalidArgument, "operationName", "%s", message+valid)
}
