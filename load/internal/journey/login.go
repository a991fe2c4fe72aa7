package journey

import (
	"context"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
)

// Login opens a session and fetches the profile with its token.
const Login Name = "login"

var login = definition{
	name:       Login,
	senders:    customers,
	needs:      []string{"user_id"},
	draw:       func(d dice) Params { return Params{UserID: d.From(d.scale.LoginUsers())} },
	documents:  []string{"login", "profile"},
	federation: loginFederated,
	graphQL: func(ctx context.Context, c graphql.Client, e Entry) (Answer, error) {
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
		return newLoginAnswer(profile.Me.Canonical()), err
	},
	composed: func(ctx context.Context, s shop.Services, p Params) (Answer, error) {
		opened, err := s.Login(ctx, shopdata.Email(p.UserID), shopdata.Password)
		if err != nil {
			return nil, err
		}
		if opened.Token == "" || opened.User.ID == 0 {
			return nil, outcome.Wrong("the answer to the login has no token or no user")
		}
		profile, err := s.GetUser(ctx, opened.User.ID, opened.Token)
		return newLoginAnswer(profile), err
	},
}

type loginAnswer struct {
	Email string `json:"email"`
	ID    int64  `json:"id"`
	Name  string `json:"name"`
}

func newLoginAnswer(u shop.User) *loginAnswer {
	return &loginAnswer{Email: u.Email, ID: u.ID, Name: u.Name}
}

func (a *loginAnswer) check(q Question) error {
	if err := checkID("user", a.ID, q.Params.UserID); err != nil {
		return err
	}
	if want := shopdata.Email(a.ID); a.Email != want {
		return outcome.Wrong("user %d has another e-mail address than the one that logged in", a.ID)
	}
	return nil
}
