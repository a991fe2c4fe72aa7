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
	name:    Notifications,
	senders: customers,
	needs:   []string{"user_id"},
	draw:    func(d dice) Params { return Params{UserID: d.From(d.scale.Regulars())} },
	told:    true,
	graphQL: asks(
		func(Entry) graphql.Variables { return nil },
		func(data struct {
			Notifications []graphql.Notification `json:"notifications"`
		}, _ Params) (Answer, error) {
			told := make([]shop.Notification, len(data.Notifications))
			for i, each := range data.Notifications {
				told[i] = each.Canonical()
			}
			return &notificationsAnswer{told}, nil
		},
	),
	composed: func(ctx context.Context, s shop.Services, p Params) (Answer, error) {
		told, err := s.ListNotifications(ctx, p.UserID)
		return &notificationsAnswer{told}, err
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
	for i, told := range a.Notifications {
		position := int64(len(expected) - i)
		if told.OrderID != expected[i] || told.Position != position {
			return outcome.Wrong("notification %d is number %d, of order %d, instead of number %d, of order %d",
				i+1, told.Position, told.OrderID, position, expected[i])
		}
		if told.Status == "" || told.CreatedAt == "" {
			return outcome.Wrong("notification %d has no status or no time", told.Position)
		}
	}
	return nil
}
