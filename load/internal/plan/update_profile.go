package plan

import (
	"context"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/tape"
)

var updateProfile = plans{
	graphQL: asks(
		func(e tape.Entry) graphql.Variables {
			return graphql.Variables{"address": graphql.Address(*e.Params.Address)}
		},
		func(data struct {
			UpdateProfile struct {
				User graphql.User `json:"user"`
			} `json:"updateProfile"`
		}, _ journey.Params) (journey.Answer, error) {
			return journey.NewUpdateProfileAnswer(data.UpdateProfile.User.Canonical()), nil
		},
	),
	best: func(ctx context.Context, s shop.Services, p journey.Params) (journey.Answer, error) {
		user, err := s.UpdateAddress(ctx, p.UserID, *p.Address)
		return journey.NewUpdateProfileAnswer(user), err
	},
}
