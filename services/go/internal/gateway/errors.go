package gateway

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/99designs/gqlgen/graphql"
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
	if retry := failure.Code.Retry(); retry > 0 {
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
	if field := graphql.GetFieldContext(ctx); field != nil && field.Field.Field != nil && field.Field.Position != nil {
		made.Locations = []gqlerror.Location{{Line: field.Field.Position.Line, Column: field.Field.Position.Column}}
	}
	return made
}
