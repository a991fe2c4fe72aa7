package tape

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"hopwise/load/internal/journey"
	"hopwise/load/internal/shopdata"
)

const (
	maxLines    = 5
	maxQuantity = 2
)

// drawer draws the parameters of journeys, each journey from a stream of its own.
type drawer struct {
	scale      shopdata.Scale
	pool       shopdata.Pool
	identity   string
	streams    map[journey.Name]source
	categories popularity
	products   popularity
}

func newDrawer(h Header) *drawer {
	d := &drawer{
		scale:      h.Scale,
		pool:       h.Pool,
		identity:   h.identity(),
		streams:    map[journey.Name]source{},
		categories: newPopularity(h.Scale.BrowseCategories()),
		products:   newPopularity(h.Scale.ReadProducts()),
	}
	for _, name := range journey.Names() {
		d.streams[name] = newSource("params:"+string(name), h.Seed)
	}
	return d
}

func (d *drawer) draw(name journey.Name, seq int64) journey.Params {
	random := d.streams[name]
	from := func(r shopdata.Range) int64 { return random.between(r.First, r.Last) }
	switch name {
	case journey.Browse:
		return journey.Params{Category: shopdata.CategoryName(d.categories.draw(random))}
	case journey.Product:
		return journey.Params{ProductID: d.products.draw(random)}
	case journey.Login:
		return journey.Params{UserID: from(d.scale.LoginUsers())}
	case journey.OrderHistory:
		return journey.Params{UserID: from(d.scale.Regulars())}
	case journey.Checkout:
		return journey.Params{
			UserID:         from(d.scale.CheckoutUsers(d.pool)),
			Lines:          d.lines(random),
			IdempotencyKey: idempotencyKey(d.identity, seq),
		}
	case journey.UpdateProfile:
		return journey.Params{UserID: from(d.scale.ProfileUsers(d.pool)), Address: address(random)}
	case journey.OrderStatus:
		return journey.Params{OrderID: from(d.scale.Orders())}
	case journey.BulkLines:
		after := from(d.scale.BulkStarts())
		return journey.Params{AfterLineID: &after}
	}
	panic("unknown journey " + string(name)) // the workload was checked
}

// lines returns 1 to 5 distinct products by ascending id.
func (d *drawer) lines(random source) []journey.Line {
	products := d.scale.CheckoutProducts(d.pool)
	count := int(random.between(1, maxLines))
	lines := make([]journey.Line, 0, count)
	for len(lines) < count {
		id := random.between(products.First, products.Last)
		if !slices.ContainsFunc(lines, func(l journey.Line) bool { return l.ProductID == id }) {
			lines = append(lines, journey.Line{ProductID: id, Quantity: random.between(1, maxQuantity)})
		}
	}
	slices.SortFunc(lines, func(a, b journey.Line) int { return int(a.ProductID - b.ProductID) })
	return lines
}

var (
	streets = []string{"Ahornweg", "Bahnhofstraße", "Gartenstraße", "Lindenallee", "Rue de la Paix", "Via Roma", "Kerkstraat"}
	cities  = []struct{ name, country string }{
		{"Berlin", "DE"}, {"Hamburg", "DE"}, {"Wien", "AT"}, {"Lyon", "FR"}, {"Milano", "IT"}, {"Utrecht", "NL"}, {"Gdańsk", "PL"},
	}
)

func address(random source) *journey.Address {
	city := cities[random.below(int64(len(cities)))]
	return &journey.Address{
		City:        city.name,
		CountryCode: city.country,
		PostalCode:  fmt.Sprintf("%05d", random.between(1000, 99999)),
		Recipient:   fmt.Sprintf("Customer %d", random.between(1, 999999)),
		Street:      fmt.Sprintf("%s %d", streets[random.below(int64(len(streets)))], random.between(1, 200)),
	}
}

// idempotencyKey derives a key from all that the tape was made of, so that a warm-up's keys never meet a trial's.
func idempotencyKey(identity string, seq int64) string {
	digest := sha256.Sum256(fmt.Appendf(nil, "%s#%d", identity, seq))
	return fmt.Sprintf("%x-%x-%x-%x-%x", digest[0:4], digest[4:6], digest[6:8], digest[8:10], digest[10:16])
}
