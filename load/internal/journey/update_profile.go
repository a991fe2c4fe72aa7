package journey

import (
	"context"
	"fmt"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
)

const UpdateProfile Name = "update_profile"

var updateProfile = definition{
	name:       UpdateProfile,
	senders:    customers,
	needs:      []string{"user_id", "address"},
	draw:       func(d dice) Params { return Params{UserID: d.From(d.scale.ProfileUsers(d.pool)), Address: d.address()} },
	federation: updateProfileFederated,
	graphQL: asks(
		func(_ graphql.Client, e Entry) graphql.Variables {
			return graphql.Variables{"address": graphql.Address(*e.Params.Address)}
		},
		func(data struct {
			UpdateProfile struct {
				User graphql.User `json:"user"`
			} `json:"updateProfile"`
		}, _ Params) (Answer, error) {
			return newUpdateProfileAnswer(data.UpdateProfile.User.Canonical()), nil
		},
	),
	composed: func(ctx context.Context, s shop.Services, p Params) (Answer, error) {
		user, err := s.UpdateAddress(ctx, p.UserID, *p.Address)
		return newUpdateProfileAnswer(user), err
	},
}

var (
	streets = []string{"Ahornweg", "Bahnhofstraße", "Gartenstraße", "Lindenallee", "Rue de la Paix", "Via Roma", "Kerkstraat"}
	cities  = []struct{ name, country string }{
		{"Berlin", "DE"}, {"Hamburg", "DE"}, {"Wien", "AT"}, {"Lyon", "FR"}, {"Milano", "IT"}, {"Utrecht", "NL"}, {"Gdańsk", "PL"},
	}
)

func (d dice) address() *shop.Address {
	city := cities[d.Below(int64(len(cities)))]
	return &shop.Address{
		City:        city.name,
		CountryCode: city.country,
		PostalCode:  fmt.Sprintf("%05d", d.Between(1000, 99999)),
		Recipient:   fmt.Sprintf("Customer %d", d.Between(1, 999999)),
		Street:      fmt.Sprintf("%s %d", streets[d.Below(int64(len(streets)))], d.Between(1, 200)),
	}
}

type updateProfileAnswer struct {
	Address shop.Address `json:"address"`
	ID      int64        `json:"id"`
}

func newUpdateProfileAnswer(u shop.User) *updateProfileAnswer {
	return &updateProfileAnswer{Address: u.Address, ID: u.ID}
}

func (a *updateProfileAnswer) check(q Question) error {
	if err := checkID("user", a.ID, q.Params.UserID); err != nil {
		return err
	}
	if a.Address != *q.Params.Address {
		return outcome.Wrong("user %d has another address than the one sent", a.ID)
	}
	return nil
}
