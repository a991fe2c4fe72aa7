package gateway

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"hopwise/services/internal/guard"
	"hopwise/services/internal/shoperr"
)

// mostMessage is the longest message of the libraries that is passed on, in characters; they repeat what the client sent.
const mostMessage = 1_000

// errPersistedQueryNotFound is no error of the shop but a step of the persisted query convention.
var errPersistedQueryNotFound = &gqlerror.Error{
	Message:    "PersistedQueryNotFound",
	Extensions: map[string]any{"code": "PERSISTED_QUERY_NOT_FOUND"},
}

var snake = regexp.MustCompile(`_[a-z]`)

// shown returns an error of the shop as clients see it.
func shown(failure *shoperr.Error) *gqlerror.Error {
	extensions := map[string]any{"code": failure.Code}
	if failure.Field != "" {
		extensions["field"] = snake.ReplaceAllStringFunc(failure.Field, func(s string) string { return strings.ToUpper(s[1:]) })
	}
	if retry := failure.RetryAfter(); retry > 0 {
		extensions["retryAfter"] = int(retry.Seconds())
	}
	return &gqlerror.Error{Message: failure.Message, Extensions: extensions}
}

// mistaken returns what is wrong with a document or its values as clients see it.
func mistaken(mistake *gqlerror.Error) *gqlerror.Error {
	message := mistake.Message
	if runes := []rune(message); len(runes) > mostMessage {
		message = string(runes[:mostMessage]) + "..."
	}
	extensions := map[string]any{"code": shoperr.InvalidArgument}
	return &gqlerror.Error{Message: message, Locations: mistake.Locations, Path: mistake.Path, Extensions: extensions}
}

// present returns the error of a resolver as clients see it.
func present(ctx context.Context, err error) *gqlerror.Error {
	failure, mistake := new(shoperr.Error), new(gqlerror.Error)
	var made *gqlerror.Error
	if isMistake := errors.As(err, &mistake); isMistake && !errors.As(err, &failure) {
		made = mistaken(mistake)
	} else {
		made = shown(guard.Told(ctx, err))
	}
	made.Path = graphql.GetPath(ctx)
	if mistake.Path != nil {
		made.Path = mistake.Path
	}
	field := graphql.GetFieldContext(ctx)
	if field != nil && field.Field.Field != nil && field.Field.Position != nil {
		made.Locations = []gqlerror.Location{{Line: field.Field.Position.Line, Column: field.Field.Position.Column}}
	}
	made.Extensions[nulledKey] = nulled(field)
	return made
}

// nulledKey is where an error says what of the answer it makes null, until once reads it.
const nulledKey = "\x00nulled"

// nulled returns the path of the innermost thing around a field that may be null.
func nulled(field *graphql.FieldContext) string {
	for ; field != nil && field.Parent != nil; field = field.Parent {
		of := field.Field.Field
		if field.Index != nil {
			of = field.Parent.Field.Field
		}
		if of == nil || of.Definition == nil {
			break
		}
		if typ := of.Definition.Type; field.Index == nil && !typ.NonNull || field.Index != nil && !typ.Elem.NonNull {
			return field.Path().String()
		}
	}
	return ""
}

// once returns the errors of resolvers in the order of the answer, and one of those that make the same null.
func once(errs gqlerror.List) gqlerror.List {
	slices.SortStableFunc(errs, func(one, other *gqlerror.Error) int {
		for place := range min(len(one.Path), len(other.Path)) {
			index, isIndex := one.Path[place].(ast.PathIndex)
			beside, isBeside := other.Path[place].(ast.PathIndex)
			if isIndex && isBeside && index != beside {
				return int(index - beside)
			}
			if one.Path[place] != other.Path[place] {
				break
			}
		}
		return slices.CompareFunc(one.Locations, other.Locations, func(a, b gqlerror.Location) int {
			return cmp.Or(a.Line-b.Line, a.Column-b.Column)
		})
	})
	seen := make(map[any]bool, len(errs))
	return slices.DeleteFunc(errs, func(err *gqlerror.Error) bool {
		path := err.Extensions[nulledKey]
		isAgain := seen[path]
		seen[path] = true
		delete(err.Extensions, nulledKey)
		return isAgain
	})
}
