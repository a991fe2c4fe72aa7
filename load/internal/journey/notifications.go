package journey

import (
	"context"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
)

// Notifications reads the notifications about the customer's orders, in shops with updates.
const Notifications Name = "notifications"

var notifications = definition{
	name:         Notifications,
	senders:      customers,
	needs:        []string{"user_id"},
	draw:         func(d dice) Params { return Params{UserID: d.From(d.scale.Regulars())} },
	needsUpdates: true,
	graphQL: asks(
		func(graphql.Client, Entry) graphql.Variables { return nil },
		func(data struct {
			Notifications []graphql.Notification `json:"notifications"`
		}, _ Params) (Answer, error) {
			return &notificationsAnswer{shop.Mapped(data.Notifications, graphql.Notification.Canonical)}, nil
		},
	),
	composed: func(ctx context.Context, s shop.Services, p Params) (Answer, error) {
		notifications, err := s.ListNotifications(ctx, p.UserID)
		return &notificationsAnswer{notifications}, err
	},
}

// notificationsAnswer has the customer's notifications, newest first.
type notificationsAnswer struct {
	Notifications []shop.Notification `json:"notifications"`
}

// check expects one notification for each order of a regular customer, and no later notification.
func (a *notificationsAnswer) check(q Question) error {
	expected := q.Scale.OrdersOfRegular(q.Params.UserID)
	if len(a.Notifications) != len(expected) {
		return outcome.Wrong("%d notifications instead of %d", len(a.Notifications), len(expected))
	}
	for i, notification := range a.Notifications {
		position := int64(len(expected) - i)
		if notification.OrderID != expected[i] || notification.Position != position {
			return outcome.Wrong("notification %d is number %d, of order %d, instead of number %d, of order %d",
				i+1, notification.Position, notification.OrderID, position, expected[i])
		}
		if notification.Status == "" || notification.CreatedAt == "" {
			return outcome.Wrong("notification %d has no status or no time", notification.Position)
		}
	}
	return nil
}
