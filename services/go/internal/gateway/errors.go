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

// maxMessage is the maximum length of a library's message for clients, in characters; such messages repeat the client's
// text.
const maxMessage = 1_000

// errPersistedQueryNotFound is not an error of the shop but a step of the convention for persisted queries.
var errPersistedQueryNotFound = errors.New("PersistedQueryNotFound")

const persistedQueryNotFound = "PERSISTED_QUERY_NOT_FOUND"

var snake = regexp.MustCompile(`_[a-z]`)

// presentFailure returns an error of the shop in the form for clients.
func presentFailure(failure *shoperr.Error) *gqlerror.Error {
	extensions := map[string]any{"code": string(failure.Code)}
	if failure.Field != "" {
		extensions["field"] = snake.ReplaceAllStringFunc(failure.Field, func(s string) string { return strings.ToUpper(s[1:]) })
	}
	if retry := failure.RetryAfter(); retry > 0 {
		extensions["retryAfter"] = int(retry.Seconds())
	}
	return &gqlerror.Error{Message: failure.Message, Extensions: extensions}
}

// present gives an error of a resolver or of gqlgen the form for clients, unless it already has that form.
func present(ctx context.Context, err error) *gqlerror.Error {
	failure, mistake := new(shoperr.Error), new(gqlerror.Error)
	isMistake := errors.As(err, &mistake)
	code, _ := mistake.Extensions["code"].(string)
	var made *gqlerror.Error
	switch {
	case errors.Is(err, errPersistedQueryNotFound):
		return &gqlerror.Error{Message: mistake.Message, Extensions: map[string]any{"code": persistedQueryNotFound}}
	case shoperr.Code(code).IsKnown():
		return mistake
	case errors.As(err, &failure) || !isMistake:
		made = presentFailure(guard.ClientError(ctx, err))
	default:
		message := mistake.Message
		if runes := []rune(message); len(runes) > maxMessage {
			message = string(runes[:maxMessage]) + "..."
		}
		made = &gqlerror.Error{Message: message, Extensions: map[string]any{"code": string(shoperr.InvalidArgument)}}
	}
	made.Path, made.Locations = mistake.Path, mistake.Locations
	return made
}
