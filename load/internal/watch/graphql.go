package watch

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	sse "github.com/tmaxmax/go-sse"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/shop"
)

const (
	subprotocol = "graphql-transport-ws"
	streamPath  = "/graphql/stream"
	// positionGone means that a position is too old, notFoundByHash that a document must come with its text.
	positionGone, notFoundByHash = "POSITION_GONE", "PERSISTED_QUERY_NOT_FOUND"
	onlyOperation                = "1" // id of the subscription, the only operation on a socket
)

var (
	//go:embed documents/notifications.graphql
	listDocument string
	//go:embed documents/watch_notifications.graphql
	watchDocument string
	listHash      = func() string { sum := sha256.Sum256([]byte(listDocument)); return hex.EncodeToString(sum[:]) }()
)

type graphConnection struct {
	*http.Client
	url     string // base URL of the GraphQL gateway
	sockets bool   // whether streams are WebSockets rather than server-sent events
}

func (c graphConnection) line(of Customer) line { return &graphLine{c, of.Token} }
func (c graphConnection) close()                { c.CloseIdleConnections() }

// graphLine is a customer's access to the GraphQL gateway. Over HTTP/1.1, subscriptions use WebSockets
// (graphql-transport-ws), otherwise server-sent events (graphql-sse).
type graphLine struct {
	graphConnection
	token string
}

var _ line = (*graphLine)(nil)

type graphRequest struct {
	Query      string         `json:"query,omitempty"`
	Variables  map[string]any `json:"variables,omitempty"`
	Extensions map[string]any `json:"extensions,omitempty"`
}

type graphNews struct {
	Position    int64
	Status      string
	CreatedAt   time.Time
	Traceparent string
	Order       struct{ ID graphql.ID }
}

func (n graphNews) news() News {
	return News{n.Position, n.Order.ID.Of("Order"), n.Status, n.CreatedAt, n.Traceparent}
}

type graphError struct {
	Message    string
	Extensions struct{ Code string }
}

type graphAnswer[T any] struct {
	Data   struct{ Notifications T }
	Errors []graphError
}

func (a graphAnswer[T]) failure() error { return failure(a.Errors) }

func failure(errors []graphError) error {
	if len(errors) == 0 {
		return nil
	}
	cause := errors[0].Extensions.Code
	if cause == positionGone {
		cause = gone
	}
	return newEnd(cause, "%s", errors[0].Message)
}

type graphUpdate struct {
	Position     int64
	Notification *graphNews
}

func decodeNews(result []byte) (message, error) {
	var answer graphAnswer[graphUpdate]
	if err := json.Unmarshal(result, &answer); err != nil {
		return message{}, newEnd(unreadable, "the result: %w", err)
	}
	next := message{position: answer.Data.Notifications.Position}
	if n := answer.Data.Notifications.Notification; n != nil {
		news := n.news()
		next.news = &news
	}
	return next, answer.failure()
}

func (l *graphLine) open(ctx context.Context, after *int64, alive func()) (stream, error) {
	request := graphRequest{Query: watchDocument, Variables: map[string]any{"after": after}}
	if l.sockets {
		return l.socket(ctx, request, alive)
	}
	answer, err := l.post(ctx, streamPath, mediaType, request)
	if err != nil {
		return nil, err
	}
	return events(answer, alive, func(event sse.Event) (message, error) {
		if event.Type != "next" {
			return message{}, newEnd(over, "the shop ended the stream")
		}
		return decodeNews([]byte(event.Data))
	})
}

type socketMessage struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

func (l *graphLine) socket(ctx context.Context, request graphRequest, alive func()) (stream, error) {
	seen := func(context.Context, []byte) bool { alive(); return true }
	socket, answer, err := websocket.Dial(ctx, l.url+streamPath, &websocket.DialOptions{
		HTTPClient: l.Client, HTTPHeader: l.header(http.Header{}), Subprotocols: []string{subprotocol}, OnPingReceived: seen,
	})
	if err != nil {
		if answer != nil && answer.StatusCode != http.StatusSwitchingProtocols {
			return nil, newEnd(strconv.Itoa(answer.StatusCode), "%w", err)
		}
		return nil, newEnd(broken, "%w", err)
	}
	body, err := json.Marshal(request)
	for _, each := range []socketMessage{{Type: "connection_init"}, {ID: onlyOperation, Type: "subscribe", Payload: body}} {
		if err == nil {
			err = wsjson.Write(ctx, socket, each)
		}
		if err == nil && each.ID == "" {
			err = awaitAck(ctx, socket)
		}
	}
	next := func() (message, error) {
		for err == nil {
			var received socketMessage
			if err = wsjson.Read(ctx, socket, &received); err != nil {
				break
			}
			alive()
			switch received.Type {
			case "next":
				news, failed := decodeNews(received.Payload)
				if err = failed; err == nil {
					return news, nil
				}
			case "error":
				var errors []graphError
				if err = json.Unmarshal(received.Payload, &errors); err == nil {
					err = failure(errors)
				}
			case "complete":
				err = newEnd(over, "the shop ended the stream")
			case "ping":
				err = wsjson.Write(ctx, socket, socketMessage{Type: "pong"})
			default:
				err = newEnd(unreadable, "a message of the type %q", received.Type)
			}
		}
		_ = socket.CloseNow()
		return message{}, err
	}
	if err != nil {
		_, err = next()
		return nil, err
	}
	return next, nil
}

func awaitAck(ctx context.Context, socket *websocket.Conn) error {
	var received socketMessage
	if err := wsjson.Read(ctx, socket, &received); err != nil {
		return err
	}
	if received.Type != "connection_ack" {
		return newEnd(unreadable, "the first message is of the type %q", received.Type)
	}
	return nil
}

func (l *graphLine) list(ctx context.Context) ([]News, error) {
	persisted := map[string]any{"persistedQuery": map[string]any{"version": 1, "sha256Hash": listHash}}
	listed, err := l.requestList(ctx, graphRequest{Extensions: persisted})
	if err == nil && len(listed.Errors) > 0 && listed.Errors[0].Extensions.Code == notFoundByHash {
		listed, err = l.requestList(ctx, graphRequest{Query: listDocument, Extensions: persisted})
	}
	if err != nil {
		return nil, err
	}
	return shop.Mapped(listed.Data.Notifications, graphNews.news), listed.failure()
}

func (l *graphLine) requestList(ctx context.Context, request graphRequest) (listed graphAnswer[[]graphNews], err error) {
	answer, err := l.post(ctx, "/graphql", "application/json", request)
	if err != nil {
		return listed, err
	}
	return listed, decode(answer, &listed)
}

func (l *graphLine) post(ctx context.Context, path, accepted string, body graphRequest) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	request.Header = l.header(http.Header{"Accept": {accepted}, "Content-Type": {"application/json"}})
	if accepted != mediaType {
		request.Header.Set("Accept-Encoding", "gzip")
	}
	return send(l.Client, request)
}

func (l *graphLine) header(more http.Header) http.Header {
	more.Set("Authorization", "Bearer "+l.token)
	more.Set("User-Agent", "shopload")
	return more
}
