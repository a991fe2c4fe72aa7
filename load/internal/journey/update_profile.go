package journey

import (
	"fmt"

	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
)

// UpdateProfile changes the address of a user.
const UpdateProfile Name = "update_profile"

var updateProfile = definition{
	name:    UpdateProfile,
	senders: customers,
	needs:   []string{"user_id", "address"},
	draw: func(d dice) Params {
		return Params{UserID: d.From(d.scale.ProfileUsers(d.pool)), Address: d.address()}
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

// UpdateProfileAnswer is the user with the new address.
type UpdateProfileAnswer struct {
	Address shop.Address `json:"address"`
	ID      int64        `json:"id"`
}

// NewUpdateProfileAnswer returns the answer that is this user.
func NewUpdateProfileAnswer(u shop.User) *UpdateProfileAnswer {
	return &UpdateProfileAnswer{Address: u.Address, ID: u.ID}
}

func (a *UpdateProfileAnswer) check(q Question) error {
	if err := checkID("user", a.ID, q.Params.UserID); err != nil {
		return err
	}
	if a.Address != *q.Params.Address {
		return outcome.Wrong("user %d has another address than the one sent", a.ID)
	}
	return nil
}
