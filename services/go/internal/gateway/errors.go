package gateway

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"hopwise/services/internal/guard"
	"hopwise/services/internal/shoperr"
)

// maxMessage is how much of a library's message is passed on, in characters; such messages repeat what the client sent.
const maxMessage = 1_000

// errPersistedQueryNotFound is no error of the shop but a step of the persisted query convention.
var errPersistedQueryNotFound = errors.New("PersistedQueryNotFound")

const persistedQueryNotFound = "PERSISTED_QUERY_NOT_FOUND"

var snake = regexp.MustCompile(`_[a-z]`)

// shown returns an error of the shop as clients see it.
func shown(failure *shoperr.Error) *gqlerror.Error {
	extensions := map[string]any{"code": string(failure.Code)}
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
	if runes := []rune(message); len(runes) > maxMessage {
		message = string(runes[:maxMessage]) + "..."
	}
	extensions := map[string]any{"code": string(shoperr.InvalidArgument)}
	return &gqlerror.Error{Message: message, Locations: mistake.Locations, Path: mistake.Path, Extensions: extensions}
}

// present returns an error as clients see it: of a resolver, of gqlgen, or one that is ready for clients.
func present(ctx context.Context, err error) *gqlerror.Error {
	failure, mistake := new(shoperr.Error), new(gqlerror.Error)
	isMistake := errors.As(err, &mistake)
	code, _ := mistake.Extensions["code"].(string)
	var made *gqlerror.Error
	switch {
	case code == persistedQueryNotFound || shoperr.Code(code).IsKnown():
		return mistake
	case errors.As(err, &failure) || !isMistake:
		made = shown(guard.Told(ctx, err))
	default:
		made = mistaken(mistake)
	}
	made.Path, made.Locations = mistake.Path, mistake.Locations
	return made
}

// requestError returns why a request is not executed, as clients see it; nil for no error.
func (x *exchange) requestError(ctx context.Context, err error) *gqlerror.Error {
	var mistakes gqlerror.List
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errPersistedQueryNotFound):
		return &gqlerror.Error{Message: err.Error(), Extensions: map[string]any{"code": persistedQueryNotFound}}
	case errors.As(err, &mistakes):
		for _, mistake := range mistakes[1:] {
			x.mistakes = append(x.mistakes, mistaken(mistake))
		}
		return mistaken(mistakes[0])
	}
	return shown(guard.Told(ctx, err))
}
