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

// connect returns the nodes and the edges of one page of a service's listing. fetch reads a page from the service.
func connect[N, E any](
	fetch func(size int32, token string) (nodes []N, next string, err error), edge func(node N, cursor string) E,
	first int32, after *string, most int32,
) ([]N, []E, *schema.PageInfo, error) {
	skip, token, err := cursorOf(after, most)
	if err != nil {
		return nil, nil, nil, err
	}
	if skip+first > most {
		// Rare: a cursor from the middle of a page that started in the middle of another page.
		_, next, err := fetch(skip, token)
		if err != nil {
			return nil, nil, nil, ofCursor(err)
		}
		if skip, token = 0, next; token == "" {
			return nil, []E{}, &schema.PageInfo{HasPreviousPage: true}, nil
		}
	}
	nodes, next, err := fetch(skip+first, token)
	if err != nil {
		return nil, nil, nil, ofCursor(err)
	}
	nodes = nodes[min(len(nodes), int(skip)):]
	edges, cursors := make([]E, len(nodes)), make([]string, len(nodes))
	for place, node := range nodes {
		cursors[place] = strconv.Itoa(int(skip)+place+1) + "." + token
		if place == len(nodes)-1 && next != "" {
			cursors[place] = "0." + next
		}
		edges[place] = edge(node, cursors[place])
	}
	return nodes, edges, infoOf(cursors, next != "", after != nil && *after != ""), nil
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
