package journey

import (
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
)

// Login opens a session and fetches the profile with its token.
const Login Name = "login"

var login = definition{
	name:    Login,
	senders: customers,
	needs:   []string{"user_id"},
	draw:    func(d dice) Params { return Params{UserID: d.From(d.scale.LoginUsers())} },
}

// LoginAnswer is the profile.
type LoginAnswer struct {
	Email string `json:"email"`
	ID    int64  `json:"id"`
	Name  string `json:"name"`
}

// NewLoginAnswer returns the answer that is this user's profile.
func NewLoginAnswer(u shop.User) *LoginAnswer {
	return &LoginAnswer{Email: u.Email, ID: u.ID, Name: u.Name}
}

func (a *LoginAnswer) check(q Question) error {
	if err := checkID("user", a.ID, q.Params.UserID); err != nil {
		return err
	}
	if want := shopdata.Email(a.ID); a.Email != want {
		return outcome.Wrong("user %d has another e-mail address than the one that logged in", a.ID)
	}
	return nil
}
