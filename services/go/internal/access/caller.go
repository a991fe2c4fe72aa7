package access

import (
	"time"

	"hopwise/services/internal/shoperr"
)

// Caller is the sender of a call, as its token identifies it.
type Caller struct {
	role    string
	id      int64
	expires time.Time
}

// IsPartner tells whether the caller may act for any user.
func (c Caller) IsPartner() bool { return c.role == partner }

// MayActFor tells whether the caller may read and change a user's data; 0 stands for a deleted account.
func (c Caller) MayActFor(user int64) bool { return c.IsPartner() || c.id == user }

// RequireOwner checks that the caller may act for the user that a request names. field is the argument that names the
// user; it is empty if the request has no other argument.
func (c Caller) RequireOwner(user int64, field string) error {
	if !c.MayActFor(user) {
		return shoperr.New(shoperr.PermissionDenied, field, "a customer may do this only for themselves")
	}
	return nil
}

// CustomerID returns the id of the calling customer, or an error if the caller is not a customer.
func (c Caller) CustomerID() (int64, error) {
	if c.role != customer {
		return 0, shoperr.New(shoperr.PermissionDenied, "", "this needs a customer's token")
	}
	return c.id, nil
}
