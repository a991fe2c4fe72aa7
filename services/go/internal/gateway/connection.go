package gateway

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"hopwise/services/internal/shoperr"
	"hopwise/services/internal/stubs/schema"
)

// A service gives one token for each page, which continues after the page's last item. A cursor, by contrast, exists
// for every item: it has the number of items to skip, and the token of their page, "3.<token>".

var skipForm = regexp.MustCompile(`^[0-9]{1,4}$`)

// page is a page that a service returns: its items, and the token of the next page.
type page[M any] interface {
	GetNextPageToken() string
	comparable
}

// connect returns the edges of one page of a service's listing.
func connect[P page[M], M, E any](
	fetch func(size int32, token string) (P, error), items func(P) []M, edge func(item M, cursor string) E,
	first int32, after *string, most int32,
) ([]E, *schema.PageInfo, error) {
	skip, token, err := cursorOf(after, most)
	if err != nil {
		return nil, nil, err
	}
	if skip+first > most {
		// Rare: a cursor from the middle of a page that started in the middle of another page.
		before, err := fetch(skip, token)
		if err != nil {
			return nil, nil, ofCursor(err)
		}
		if skip, token = 0, before.GetNextPageToken(); token == "" {
			return []E{}, &schema.PageInfo{HasPreviousPage: true}, nil
		}
	}
	answer, err := fetch(skip+first, token)
	if err != nil {
		return nil, nil, ofCursor(err)
	}
	next, listed := answer.GetNextPageToken(), items(answer)
	edges, cursors := make([]E, 0, len(listed)), make([]string, 0, len(listed))
	for place := int(skip); place < len(listed); place++ {
		cursor := strconv.Itoa(place+1) + "." + token
		if place == len(listed)-1 && next != "" {
			cursor = "0." + next
		}
		edges, cursors = append(edges, edge(listed[place], cursor)), append(cursors, cursor)
	}
	return edges, infoOf(cursors, next != "", after != nil && *after != ""), nil
}

func infoOf(cursors []string, hasNext, hasPrevious bool) *schema.PageInfo {
	info := &schema.PageInfo{HasNextPage: hasNext, HasPreviousPage: hasPrevious}
	if len(cursors) > 0 {
		info.StartCursor, info.EndCursor = &cursors[0], &cursors[len(cursors)-1]
	}
	return info
}

func cursorOf(after *string, most int32) (skip int32, token string, err error) {
	if after == nil || *after == "" {
		return 0, "", nil
	}
	digits, token, isSplit := strings.Cut(*after, ".")
	number, err := strconv.Atoi(digits)
	if !isSplit || !skipForm.MatchString(digits) || err != nil || number > int(most) {
		return 0, "", badCursor()
	}
	return int32(number), token, nil
}

// ofCursor turns an error about an invalid page token into an error about the client's cursor.
func ofCursor(err error) error {
	if failure := new(shoperr.Error); errors.As(err, &failure) && failure.Code == shoperr.InvalidPageToken {
		return badCursor()
	}
	return err
}

func badCursor() error {
	return shoperr.New(shoperr.InvalidPageToken, "after", "after is not a cursor of this list; use the `cursor` or "+
		"`endCursor` of a page of the same list and arguments, or leave it out for the first page")
}
