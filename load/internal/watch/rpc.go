package watch

import (
	"context"
	"errors"
	"io"
	"strings"

	rpccode "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"hopwise/load/internal/shop"
	"hopwise/proto/stubs/notificationv1"
)

type rpcConnection struct{ *grpc.ClientConn }

func (c rpcConnection) line(of Customer) line {
	return &rpcLine{notificationv1.NewNotificationServiceClient(c), of}
}

func (c rpcConnection) close() { _ = c.Close() }

// rpcLine is a customer's access to the notification service's gRPC API.
type rpcLine struct {
	service  notificationv1.NotificationServiceClient
	customer Customer
}

var _ line = (*rpcLine)(nil)

func (l *rpcLine) open(ctx context.Context, after *int64, alive func()) (stream, error) {
	messages, err := l.service.WatchNotifications(l.authorise(ctx),
		&notificationv1.WatchNotificationsRequest{UserId: l.customer.UserID, AfterPosition: after})
	if err != nil {
		return nil, rpcEnd(err)
	}
	return func() (message, error) {
		next, err := messages.Recv()
		if err != nil {
			return message{}, rpcEnd(err)
		}
		alive()
		m := message{position: next.Position}
		if next.Notification != nil {
			n := news(next.Notification)
			m.news = &n
		}
		return m, nil
	}, nil
}

func (l *rpcLine) list(ctx context.Context) ([]News, error) {
	answer, err := l.service.ListNotifications(l.authorise(ctx), &notificationv1.ListNotificationsRequest{UserId: l.customer.UserID})
	if err != nil {
		return nil, rpcEnd(err)
	}
	return shop.Mapped(answer.Notifications, news), nil
}

func (l *rpcLine) authorise(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+l.customer.Token)
}

func news(n *notificationv1.Notification) News {
	return News{n.Position, n.OrderId, strings.TrimPrefix(n.Status.String(), "ORDER_STATUS_"), n.CreateTime.AsTime(), n.Traceparent}
}

func rpcEnd(err error) error {
	s := status.Convert(err)
	switch {
	case errors.Is(err, io.EOF):
		return newEnd(over, "the shop ended the stream")
	case s.Code() == codes.OutOfRange:
		return newEnd(gone, "%s", s.Message())
	}
	return newEnd(rpccode.Code(s.Code()).String(), "%s", s.Message())
}
