package plan

import (
	"context"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
	"hopwise/load/internal/tape"
)

var login = plans{
	documents: []string{"login", "profile"},
	graphQL: func(ctx context.Context, c graphql.Client, e tape.Entry) (journey.Answer, error) {
		opened, err := graphql.Ask[struct {
			Login struct {
				Token string `json:"token"`
			} `json:"login"`
		}](ctx, c, "login", graphql.Variables{"email": shopdata.Email(e.Params.UserID), "password": shopdata.Password})
		if err != nil {
			return nil, err
		}
		if opened.Login.Token == "" {
			return nil, outcome.Wrong("the answer to the login has no token")
		}
		profile, err := graphql.Ask[struct {
			Me graphql.User `json:"me"`
		}](ctx, c.In(opened.Login.Token), "profile", nil)
		return journey.NewLoginAnswer(profile.Me.Canonical()), err
	},
	best: func(ctx context.Context, s shop.Services, p journey.Params) (journey.Answer, error) {
		opened, err := s.Login(ctx, shopdata.Email(p.UserID), shopdata.Password)
		if err != nil {
			return nil, err
		}
		if opened.Token == "" || opened.User.ID == 0 {
			return nil, outcome.Wrong("the answer to the login has no token or no user")
		}
		profile, err := s.GetUser(ctx, opened.User.ID, opened.Token)
		return journey.NewLoginAnswer(profile), err
	},
}
