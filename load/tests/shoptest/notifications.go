package shoptest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"hopwise/proto/stubs/notificationv1"
	"hopwise/proto/stubs/orderv1"
)

// ToldAt is the time at which every notification's order changed.
var ToldAt = time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC)

// OrderTold is the order that a customer's notification at a position is about.
func OrderTold(position int64) int64 { return 1000 + position }

// Stream is one customer's stream of notifications, open until the shop's Watched returns.
type Stream struct {
	context.Context
	User  int64
	After *int64 // nil for updates from now on

	open func(position int64) error
	tell func(position int64) error
}

// Open tells the customer that the stream is open, or, in later calls, that it is still open.
func (s Stream) Open(position int64) { _ = s.open(position) } // the shop ignores customers who have left

// Tell sends notifications.
func (s Stream) Tell(positions ...int64) {
	for _, position := range positions {
		_ = s.tell(position)
	}
}

type rpcNotification struct {
	notificationv1.UnimplementedNotificationServiceServer
	shop *Shop
}

func (n rpcNotification) WatchNotifications(
	r *notificationv1.WatchNotificationsRequest, stream grpc.ServerStreamingServer[notificationv1.WatchNotificationsResponse],
) error {
	return n.shop.Watched(Stream{
		Context: stream.Context(), User: r.UserId, After: r.AfterPosition,
		open: func(position int64) error {
			return stream.Send(&notificationv1.WatchNotificationsResponse{Position: position})
		},
		tell: func(position int64) error {
			return stream.Send(&notificationv1.WatchNotificationsResponse{Position: position, Notification: newsAt(position).proto()})
		},
	})
}

func (n rpcNotification) ListNotifications(
	_ context.Context, r *notificationv1.ListNotificationsRequest,
) (*notificationv1.ListNotificationsResponse, error) {
	return &notificationv1.ListNotificationsResponse{Notifications: mapped(n.shop.newsOf(r.UserId), news.proto)}, nil
}

// news is a customer's update of an order.
type news struct {
	position, order int64
	at              time.Time
}

func newsAt(position int64) news { return news{position, OrderTold(position), ToldAt} }

// newsOf returns a customer's updates, newest first: an update for each order of a regular customer, unless the test
// sets other updates.
func (s *Shop) newsOf(user int64) []news {
	if s.Told != nil {
		return mapped(s.Told(user), newsAt)
	}
	at, _ := time.Parse(time.RFC3339, placedAt)
	orders := scale.OrdersOfRegular(user)
	told := make([]news, len(orders))
	for i, order := range orders {
		told[i] = news{int64(len(orders) - i), order, at}
	}
	return told
}

func (n news) proto() *notificationv1.Notification {
	return &notificationv1.Notification{
		Position: n.position, OrderId: n.order, Status: orderv1.OrderStatus_ORDER_STATUS_CONFIRMED, CreateTime: timestamppb.New(n.at),
	}
}

func (n news) rest() object {
	return object{"position": n.position, "order_id": n.order, "status": "CONFIRMED", "created_at": n.at, "read": false, "traceparent": ""}
}

func (n news) graph() object {
	return object{
		"position": n.position, "status": "CONFIRMED", "createdAt": n.at, "read": false, "traceparent": "",
		"order": object{"id": globalID("Order", n.order)},
	}
}

// serveSubscription answers requests at /graphql/stream: over a WebSocket (graphql-transport-ws), or with server-sent
// events.
func (s *Shop) serveSubscription(w http.ResponseWriter, r *http.Request, seen Seen) {
	var request struct{ Variables struct{ After *int64 } }
	send := func(kind string, payload any) error {
		w.Header().Set("Content-Type", "text/event-stream")
		data, _ := json.Marshal(payload)
		_, _ = fmt.Fprintf(w, "event: %s\r\ndata: %s\r\n\r\n", kind, data)
		return http.NewResponseController(w).Flush()
	}
	ctx := r.Context()
	if r.Header.Get("Upgrade") != "" {
		socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"graphql-transport-ws"}})
		if err != nil {
			return
		}
		defer socket.CloseNow()
		s.mu.Lock()
		s.sockets = append(s.sockets, socket)
		s.mu.Unlock()
		var first, second struct {
			ID, Type string
			Payload  json.RawMessage
		}
		acknowledge := wsjson.Read(ctx, socket, &first) == nil && wsjson.Write(ctx, socket, object{"type": "connection_ack"}) == nil
		if !acknowledge || wsjson.Read(ctx, socket, &second) != nil || first.Type != "connection_init" || second.Type != "subscribe" {
			return
		}
		seen.Body = second.Payload
		ctx = socket.CloseRead(ctx)
		send = func(kind string, payload any) error {
			return wsjson.Write(ctx, socket, object{"id": second.ID, "type": kind, "payload": payload})
		}
	}
	_ = json.Unmarshal(seen.Body, &request)
	next := func(position int64, told any) error {
		return send("next", object{"data": object{"notifications": object{"position": position, "notification": told}}})
	}
	err := s.Watched(Stream{
		Context: ctx, User: subject(r.Header), After: request.Variables.After,
		open: func(position int64) error { return next(position, nil) },
		tell: func(position int64) error { return next(position, newsAt(position).graph()) },
	})
	switch status.Code(err) {
	case codes.OK:
	case codes.OutOfRange:
		_ = send("next", GraphQLError("POSITION_GONE", err.Error()))
	default:
		_ = send("next", GraphQLError("UNAVAILABLE", err.Error()))
	}
	_ = send("complete", nil)
}

// serveNotifications answers requests at /v1/users/ID/notifications, and tells whether it did.
func (s *Shop) serveNotifications(w http.ResponseWriter, r *http.Request) bool {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/users/"), "/")
	if len(parts) < 2 || parts[1] != "notifications" {
		return false
	}
	user, _ := strconv.ParseInt(parts[0], 10, 64)
	if len(parts) == 2 {
		s.send(w, r, http.StatusOK, object{"notifications": mapped(s.newsOf(user), news.rest)})
		return true
	}
	write := func(format string, values ...any) error {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = fmt.Fprintf(w, format, values...)
		return http.NewResponseController(w).Flush()
	}
	stream := Stream{
		Context: r.Context(), User: user,
		open: func(position int64) error { return write(": open\nid: %d\nretry: 1000\n\n", position) },
		tell: func(position int64) error {
			data, _ := json.Marshal(newsAt(position).rest())
			return write("event: order\ndata: %s\nid: %d\n\n", data, position)
		},
	}
	if id, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64); err == nil {
		stream.After = &id
	}
	switch err := s.Watched(stream); status.Code(err) {
	case codes.OK:
	case codes.OutOfRange:
		w.WriteHeader(http.StatusGone)
	default:
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	return true
}
