// Package shopdata holds the facts about the seeded data that the tape draws from and that answers are checked against.
//
// They mirror the services' seed: identifiers are contiguous from 1, and every range grows with the scale. Journeys
// that read and journeys that write draw from separate ranges, so that no read's answer changes during a trial.
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

	Password = "hopwise-demo"
	// PaymentToken is a card that the simulated bank always accepts.
	PaymentToken = "tok_ok"
	// PartnerID is the id of the partner for whom the partner channel calls.
	PartnerID = 1
)

// Scale is the factor by which the amount of seeded data grows, at least 1.
type Scale int64

// Range is a range of identifiers, both ends included.
type Range struct{ First, Last int64 }

func (r Range) Size() int64 { return r.Last - r.First + 1 }

// Pool names the identifiers that a tape may touch.
type Pool string

const (
	PoolTrial  Pool = "trial"
	PoolParity Pool = "parity" // for parity runs only
)

func Pools() []Pool { return []Pool{PoolTrial, PoolParity} }

// Payload is the size of a technical document, as users give it.
type Payload string

const DefaultPayload Payload = "1KB"

// sizes are the documents' sizes in bytes and their numbers, in the order of ids. They do not depend on the scale.
var sizes = []struct {
	payload      Payload
	bytes, count int64
}{{"100B", 100, 20}, {"1KB", 1000, 20}, {"10KB", 10_000, 20}, {"100KB", 100_000, 5}, {"1MB", 1_000_000, 3}}

func Payloads() []Payload {
	all := make([]Payload, len(sizes))
	for i, size := range sizes {
		all[i] = size.payload
	}
	return all
}

func Documents(p Payload) Range {
	documents, _ := documentsWhere(func(payload Payload, _ Range) bool { return payload == p })
	return documents
}

// DocumentBytes returns the size of a document's canonical form, or 0 if there is no such document.
func DocumentBytes(id int64) int64 {
	_, bytes := documentsWhere(func(_ Payload, documents Range) bool { return id >= documents.First && id <= documents.Last })
	return bytes
}

func documentsWhere(wanted func(Payload, Range) bool) (documents Range, bytes int64) {
	first := int64(1)
	for _, size := range sizes {
		documents = Range{first, first + size.count - 1}
		if wanted(size.payload, documents) {
			return documents, size.bytes
		}
		first += size.count
	}
	return Range{}, 0
}

// BrowseCategories returns the numbers of the categories that browse draws from, counted from 0.
func (s Scale) BrowseCategories() Range { return Range{0, int64(80*s - 1)} }

// ReadProducts returns the ids of the products that no journey writes to.
func (s Scale) ReadProducts() Range { return Range{1, int64(8000 * s)} }

// Regulars returns the ids of the users with exactly ten orders.
func (s Scale) Regulars() Range { return Range{1, int64(800 * s)} }

// LoginUsers returns the ids of the users that log in; no journey changes these users.
func (s Scale) LoginUsers() Range { return Range{1, int64(5000 * s)} }

func (s Scale) Orders() Range { return Range{1, int64(10000 * s)} }

// BulkStarts returns the line ids after which a bulk read may begin and still find a full page.
func (s Scale) BulkStarts() Range { return Range{0, int64(28000*s - BulkPage)} }

func (s Scale) ProfileUsers(p Pool) Range {
	if p == PoolParity {
		return Range{int64(7900*s + 1), int64(8000 * s)}
	}
	return Range{int64(5000*s + 1), int64(7900 * s)}
}

func (s Scale) CheckoutUsers(p Pool) Range {
	if p == PoolParity {
		return Range{int64(9900*s + 1), int64(10000 * s)}
	}
	return Range{int64(8000*s + 1), int64(9900 * s)}
}

func (s Scale) CheckoutProducts(p Pool) Range { return s.CheckoutUsers(p) }

// CategoryName returns the name of a category by its number, counted from 0.
func CategoryName(number int64) string { return fmt.Sprintf("c%04d", number) }

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

func Email(user int64) string { return fmt.Sprintf("user%d@example.com", user) }
