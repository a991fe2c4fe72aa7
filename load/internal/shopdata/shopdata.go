// Package shopdata holds the facts of the seeded data that the tape draws from and that answers are checked against.
//
// They mirror the seed of the services: identifiers are contiguous from 1 and every range grows with the scale. Journeys
// that read and journeys that write draw from ranges apart, so that no read's answer changes during a trial.
package shopdata

import "fmt"

// Sizes that do not depend on the scale.
const (
	ProductsPerCategory = 100
	ReviewsPerProduct   = 3
	OrdersPerRegular    = 10
	BrowsePage          = 20
	BulkPage            = 1000
	MaxScale            = 1000

	// Password is the one password of every seeded user.
	Password = "hopwise-demo"
	// PaymentToken is a card that the simulated bank always accepts.
	PaymentToken = "tok_ok"
	// PartnerID is the partner in whose name the partner channel calls.
	PartnerID = 1
)

// Scale is the factor on the amounts of seeded data, at least 1.
type Scale int64

// Range is a range of identifiers, both ends included.
type Range struct{ First, Last int64 }

// Size is the number of identifiers.
func (r Range) Size() int64 { return r.Last - r.First + 1 }

// Pool names the identifiers that a tape may touch.
type Pool string

// The pools: a trial's own, and one that only parity runs write to.
const (
	PoolTrial  Pool = "trial"
	PoolParity Pool = "parity"
)

// Pools returns all pools.
func Pools() []Pool { return []Pool{PoolTrial, PoolParity} }

// BrowseCategories is the range of category numbers that browse draws from, counted from 0.
func (s Scale) BrowseCategories() Range { return Range{0, int64(80*s - 1)} }

// ReadProducts are the products that no journey writes to.
func (s Scale) ReadProducts() Range { return Range{1, int64(8000 * s)} }

// Regulars are the users with exactly ten orders.
func (s Scale) Regulars() Range { return Range{1, int64(800 * s)} }

// LoginUsers are the users that log in; none of them is written to.
func (s Scale) LoginUsers() Range { return Range{1, int64(5000 * s)} }

// Orders are the seeded orders.
func (s Scale) Orders() Range { return Range{1, int64(10000 * s)} }

// BulkStarts are the line ids after which a bulk read may begin and still find a full page.
func (s Scale) BulkStarts() Range { return Range{0, int64(28000*s - BulkPage)} }

// ProfileUsers are the users whose address changes.
func (s Scale) ProfileUsers(p Pool) Range {
	if p == PoolParity {
		return Range{int64(7900*s + 1), int64(8000 * s)}
	}
	return Range{int64(5000*s + 1), int64(7900 * s)}
}

// CheckoutUsers are the users that buy.
func (s Scale) CheckoutUsers(p Pool) Range {
	if p == PoolParity {
		return Range{int64(9900*s + 1), int64(10000 * s)}
	}
	return Range{int64(8000*s + 1), int64(9900 * s)}
}

// CheckoutProducts are the products that are bought.
func (s Scale) CheckoutProducts(p Pool) Range { return s.CheckoutUsers(p) }

// CategoryName returns the name of a category by its number, counted from 0.
func CategoryName(number int64) string { return fmt.Sprintf("c%04d", number) }

// CategoryOf returns the name of the category of a product.
func CategoryOf(product int64) string { return CategoryName((product - 1) / ProductsPerCategory) }

// ReviewIDs returns the ids of a product's seeded reviews, ascending.
func ReviewIDs(product int64) [ReviewsPerProduct]int64 {
	return [ReviewsPerProduct]int64{3*product - 2, 3*product - 1, 3 * product}
}

// OrdersOfRegular returns the ids of a regular user's ten orders, newest first.
func (s Scale) OrdersOfRegular(user int64) [OrdersPerRegular]int64 {
	var ids [OrdersPerRegular]int64
	for i := range ids {
		ids[i] = user + s.Regulars().Last*int64(OrdersPerRegular-1-i)
	}
	return ids
}

// Email returns a seeded user's e-mail address.
func Email(user int64) string { return fmt.Sprintf("user%d@example.com", user) }
