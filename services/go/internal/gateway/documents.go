package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
	"go.opentelemetry.io/otel/trace"

	"hopwise/services/internal/access"
	"hopwise/services/internal/guard"
	"hopwise/services/internal/shoperr"
	"hopwise/services/internal/web"
)

const (
	maxDocuments = 128
	maxQueues    = 1_024 // of client addresses
	maxWaiting   = 64    // requests of one address that wait for unknown documents; each occupies an edge's connection
	maxErrors    = 5     // maximum number of reported mistakes in a document
	// rest is the pause before the next unknown document, as a multiple of the time that the previous document took to
	// prepare. So a flood of unknown documents takes little time from clients that send known documents.
	rest = 8
)

var sha256Form = regexp.MustCompile(`^[0-9a-f]{64}$`)

// validation has the specification's rules, without suggestions, which would cost more than all other work.
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
	isPublic bool // whether all callers get the same answer
}

// documents is the extension of gqlgen's executor that prepares clients' documents, and limits their execution. It is
// also the executor's cache of documents. Texts and persisted documents have separate caches, so that a flood of texts
// cannot evict persisted documents. gqlgen's AutomaticPersistedQuery would cache a text before its validation.
type documents struct {
	schema         *ast.Schema
	tracer         trace.Tracer
	byText, byHash *lru.Cache[string, *document]
	queues         *lru.Cache[string, *waiting] // by client address
	turn           chan struct{}                // holds an element while a document is being prepared
	restsUntil     time.Time
}

// waiting has the requests of one client address that wait for unknown documents.
type waiting struct {
	places, turn chan struct{} // hold an element for each request, and for the request that is next
}

var _ interface {
	graphql.OperationParameterMutator
	graphql.OperationContextMutator
	graphql.OperationInterceptor
	graphql.Cache[*ast.QueryDocument]
} = (*documents)(nil)

func newDocuments(schema *ast.Schema, tracer trace.Tracer) *documents {
	byText, _ := lru.New[string, *document](maxDocuments) // fails for a size below 1
	byHash, _ := lru.New[string, *document](maxDocuments)
	queues, _ := lru.New[string, *waiting](maxQueues)
	return &documents{
		schema: schema, tracer: tracer, byText: byText, byHash: byHash, queues: queues, turn: make(chan struct{}, 1),
	}
}

// ExtensionName and Validate are part of gqlgen's interface for extensions.
func (*documents) ExtensionName() string { return "Documents" }

func (*documents) Validate(graphql.ExecutableSchema) error { return nil }

// Get returns the document that the extension has found for a request.
func (*documents) Get(ctx context.Context, _ string) (*ast.QueryDocument, bool) {
	return exchangeOf(ctx).document.QueryDocument, true
}

// Add does nothing: the extension itself caches the documents.
func (*documents) Add(context.Context, string, *ast.QueryDocument) {}

// MutateOperationParameters finds the document of a request.
func (d *documents) MutateOperationParameters(ctx context.Context, r *graphql.RawParams) *gqlerror.Error {
	x := exchangeOf(ctx)
	hash, err := hashOf(r.Extensions)
	if err != nil {
		x.refusal = web.RefusalOf(ctx, err)
	} else {
		x.document, err = d.find(ctx, r.Query, hash, x.request.Header.Get(access.EdgeMark))
	}
	if err == nil {
		err = checkName(x.document.Operations, r.OperationName)
	}
	var mistakes gqlerror.List
	if errors.As(err, &mistakes) {
		x.mistakes = mistakes[1:]
	}
	return gqlerror.WrapIfUnwrapped(err)
}

// hashOf returns the hash of a persisted query; empty if the request names none.
func hashOf(extensions map[string]any) (string, error) {
	const field = "extensions.persistedQuery"
	persisted := extensions["persistedQuery"]
	if persisted == nil {
		return "", nil
	}
	object, _ := persisted.(map[string]any)
	hash, _ := object["sha256Hash"].(string)
	if fmt.Sprint(object["version"]) == "1" && sha256Form.MatchString(hash) {
		return hash, nil
	}
	return "", shoperr.Invalid(field, `%s must be {"version": 1, "sha256Hash": "64 lower-case hexadecimal digits"}`, field)
}

// find returns the document of a request, which has a text, the SHA-256 of an earlier text, or both to persist it.
// address is the client's address, which the edge gives; empty for a request from inside.
func (d *documents) find(ctx context.Context, text, hash, address string) (*document, error) {
	if hash == "" {
		if text == "" {
			return nil, shoperr.Invalid("query", "query is missing; send the GraphQL document as its text")
		}
		return d.ofText(ctx, text, address)
	}
	known, isKnown := d.byHash.Get(hash)
	if text == "" {
		if !isKnown {
			return nil, errPersistedQueryNotFound
		}
		return known, nil
	}
	if sum := sha256.Sum256([]byte(text)); hex.EncodeToString(sum[:]) != hash {
		return nil, shoperr.Invalid("extensions.persistedQuery.sha256Hash",
			"sha256Hash is not the SHA-256 of query, in lower-case hexadecimal")
	}
	if isKnown {
		return known, nil
	}
	made, err := d.ofText(ctx, text, address)
	if err == nil {
		d.byHash.Add(hash, made)
	}
	return made, err
}

func (d *documents) ofText(ctx context.Context, text, address string) (*document, error) {
	if known, isKnown := d.byText.Get(text); isKnown {
		return known, nil
	}
	// One document of each address waits for the turn; the address's other documents wait for that document.
	queue := &waiting{make(chan struct{}, maxWaiting), make(chan struct{}, 1)}
	if known, isKnown, _ := d.queues.PeekOrAdd(address, queue); isKnown {
		queue = known
	}
	if address != "" { // a caller inside the shop has many clients
		select {
		case queue.places <- struct{}{}:
			defer func() { <-queue.places }()
		default:
			return nil, &shoperr.Error{Code: shoperr.TooManyRequests, Retry: time.Second,
				Message: "too many requests from this address wait for new documents; send known ones, or try again in 1 s"}
		}
	}
	for _, place := range []chan struct{}{queue.turn, d.turn} {
		select {
		case place <- struct{}{}:
			defer func() { <-place }()
		case <-ctx.Done():
			return nil, guard.ClientError(ctx, ctx.Err())
		}
	}
	if known, isKnown := d.byText.Get(text); isKnown {
		return known, nil
	}
	select {
	case <-time.After(time.Until(d.restsUntil)):
	case <-ctx.Done():
		return nil, guard.ClientError(ctx, ctx.Err())
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
	if len(mistakes) > maxErrors {
		mistakes = append(mistakes[:maxErrors], gqlerror.Errorf("there are more errors"))
	}
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	if len(parsed.Operations) == 0 {
		return nil, shoperr.Invalid("query", "the document has no operation; add a query or a mutation")
	}
	return &document{parsed, isPublic(d.schema, parsed)}, nil
}

func (d *documents) parse(ctx context.Context, text string) (*ast.QueryDocument, error) {
	_, span := d.tracer.Start(ctx, "graphql.parse")
	defer span.End()
	words, err := scan(text)
	if err != nil {
		return nil, err
	}
	document, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, maxTokens)
	if err == nil {
		return document, words.check(document)
	}
	mistake := gqlerror.WrapIfUnwrapped(err)
	if strings.Contains(mistake.Message, "exceeded token limit") {
		return nil, exhausted("the document has more than %d tokens, which is the limit", maxTokens)
	}
	return nil, gqlerror.List{mistake}
}

// checkName checks that a document has the operation to run, whose name may be left out if there is only one.
func checkName(operations ast.OperationList, name string) error {
	if operations.ForName(name) != nil {
		return nil
	}
	var valid []string
	for _, operation := range operations {
		valid = append(valid, "'"+operation.Name+"'")
	}
	return shoperr.Invalid("operationName",
		"operationName is '%s'; the operations of the document are %s", name, strings.Join(valid, ", "))
}

// public has the types and single fields that all callers may see, as in graphql_gateway/schema.py.
var public = map[string]bool{
	"Query.product": true, "Query.products": true, "Query.document": true,
	"Product": true, "ProductConnection": true, "ProductEdge": true, "PageInfo": true, "Review": true, "Money": true,
	"Document": true, "DocumentSection": true, "DocumentRecord": true,
}

// isPublic tells whether all fields of a valid document are public, so that all callers get the same answer.
func isPublic(schema *ast.Schema, document *ast.QueryDocument) bool {
	isPublic, fields := true, new(validator.Events)
	fields.OnField(func(_ *validator.Walker, field *ast.Field) {
		owner := field.ObjectDefinition.Name
		isIntrospection := strings.HasPrefix(field.Name, "__") || strings.HasPrefix(owner, "__")
		isPublic = isPublic && (isIntrospection || public[owner] || public[owner+"."+field.Name])
	})
	validator.Walk(schema, document, fields)
	return isPublic
}
