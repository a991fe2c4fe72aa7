package watch

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"strconv"

	sse "github.com/tmaxmax/go-sse"
)

const (
	mediaType = "text/event-stream"
	// maxListed is the maximum size of a list, in bytes; 100 notifications are far smaller.
	maxListed = 1 << 20
)

type restConnection struct {
	*http.Client
	url string // base URL of the REST gateway
}

func (c restConnection) line(of Customer) line {
	return &restLine{client: c.Client, url: fmt.Sprintf("%s/v1/users/%d/notifications", c.url, of.UserID), token: of.Token}
}

func (c restConnection) close() { c.CloseIdleConnections() }

// restLine is a customer's access to the REST gateway, which sends server-sent events (HTML Living Standard, 9.2).
type restLine struct {
	client *http.Client
	url    string // of the customer's notifications
	token  string
	tag    string // entity tag of the latest list; empty before the first list
}

var _ line = (*restLine)(nil)

func (l *restLine) open(ctx context.Context, after *int64, alive func()) (stream, error) {
	header := http.Header{"Accept": {mediaType}}
	if after != nil {
		header.Set("Last-Event-ID", strconv.FormatInt(*after, 10))
	}
	answer, err := l.get(ctx, "/events", header)
	if err != nil {
		return nil, err
	}
	return events(answer, alive, read)
}

// events returns the stream of an answer with server-sent events; read turns each event into a message.
func events(answer *http.Response, alive func(), read func(sse.Event) (message, error)) (stream, error) {
	if named, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); named != mediaType {
		_ = answer.Body.Close()
		return nil, newEnd(unreadable, "the answer is %q instead of %s", named, mediaType)
	}
	next, stop := iter.Pull2(sse.Read(lively{answer.Body, alive}, nil))
	return func() (message, error) {
		event, err, more := next()
		var m message
		switch {
		case !more:
			err = newEnd(over, "the shop ended the stream")
		case err != nil:
			err = newEnd(broken, "%w", err)
		default:
			m, err = read(event)
		}
		if err != nil {
			stop()
			_ = answer.Body.Close()
		}
		return m, err
	}, nil
}

// lively is a body that reports with every read that the shop is alive; even comments, which are no events, show it.
type lively struct {
	io.Reader
	alive func()
}

func (l lively) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if n > 0 {
		l.alive()
	}
	return n, err
}

func read(event sse.Event) (m message, err error) {
	if m.position, err = strconv.ParseInt(event.LastEventID, 10, 64); err != nil {
		return m, newEnd(unreadable, "the event's id is %q instead of a position", event.LastEventID)
	}
	if event.Data != "" {
		m.news = &News{}
		if err := json.Unmarshal([]byte(event.Data), m.news); err != nil {
			return m, newEnd(unreadable, "the event's data: %w", err)
		}
	}
	return m, nil
}

func (l *restLine) list(ctx context.Context) ([]News, error) {
	header := http.Header{"Accept": {"application/json"}, "Accept-Encoding": {"gzip"}}
	if l.tag != "" {
		header.Set("If-None-Match", l.tag)
	}
	answer, err := l.get(ctx, "", header)
	if err != nil {
		return nil, err
	}
	var listed struct{ Notifications []News }
	if err := decode(answer, &listed); err != nil || answer.StatusCode == http.StatusNotModified {
		return nil, err
	}
	l.tag = answer.Header.Get("ETag")
	return listed.Notifications, nil
}

// decode reads an answer to its end, unless its status is 304.
func decode(answer *http.Response, into any) (err error) {
	defer answer.Body.Close()
	defer io.Copy(io.Discard, io.LimitReader(answer.Body, maxListed)) // otherwise the connection is not reused
	if answer.StatusCode == http.StatusNotModified {
		return nil
	}
	body := io.LimitReader(answer.Body, maxListed)
	if answer.Header.Get("Content-Encoding") == "gzip" {
		if body, err = gzip.NewReader(body); err != nil {
			return newEnd(unreadable, "the list: %w", err)
		}
	}
	if err := json.NewDecoder(body).Decode(into); err != nil {
		return newEnd(unreadable, "the list: %w", err)
	}
	return nil
}

func (l *restLine) get(ctx context.Context, path string, header http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url+path, nil)
	if err != nil {
		return nil, err
	}
	header.Set("Authorization", "Bearer "+l.token)
	header.Set("User-Agent", "shopload")
	request.Header = header
	return send(l.client, request)
}

// send sends a request; it returns an end for an answer with a status other than 200 and 304.
func send(client *http.Client, request *http.Request) (*http.Response, error) {
	answer, err := client.Do(request)
	if err != nil {
		return nil, newEnd(broken, "%w", err)
	}
	switch answer.StatusCode {
	case http.StatusOK, http.StatusNotModified:
		return answer, nil
	}
	_ = answer.Body.Close()
	if answer.StatusCode == http.StatusGone {
		return nil, newEnd(gone, "%s %s", request.Method, request.URL)
	}
	return nil, newEnd(strconv.Itoa(answer.StatusCode), "%s %s", request.Method, request.URL)
}
