package journey

import (
	"testing"

	"hopwise/load/internal/shop"
)

var price = shop.Money{AmountMinor: 1999, Currency: "EUR"}

// The order's id differs from run to run, so it is kept apart from the canonical form.
func TestCheckoutHasNoOrderID(t *testing.T) {
	got, err := Canonical(&checkoutAnswer{Lines: []checkoutLine{{1, 2, price}}, OrderID: 9, Status: "CONFIRMED", Total: price})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"lines":[{"product_id":1,"quantity":2,"unit_price":{"amount_minor":1999,"currency":"EUR"}}],` +
		`"status":"CONFIRMED","total":{"amount_minor":1999,"currency":"EUR"}}`
	if string(got) != want {
		t.Errorf("got %s", got)
	}
}

// The first field without a value is named by its path.
func TestComplete(t *testing.T) {
	cases := []struct {
		answer Answer
		want   string
	}{
		{&loginAnswer{Email: "a@b", ID: 1}, "the answer has no name"},
		{&productAnswer{Category: "c", Description: "D", ID: 1, Price: shop.Money{AmountMinor: 1}, Stock: 1, Title: "T"}, "the answer has no price.currency"},
		{&checkoutAnswer{Lines: []checkoutLine{{1, 2, price}}, Status: "CONFIRMED", Total: price}, "the answer has no order id"},
		{
			&documentAnswer{ID: 1, Sections: []shop.DocumentSection{{Records: []shop.DocumentRecord{{Count: 1, Text: "T"}}, Title: "Use"}}},
			"the answer has no sections[0].records[0].value",
		},
		{&bulkLinesAnswer{Lines: []shop.ExportedLine{{ID: 1}}}, "the answer has no lines[0].order_id"},
	}
	for _, c := range cases {
		if err := complete(c.answer); err == nil || err.Error() != c.want {
			t.Errorf("error is %v, expected %q", err, c.want)
		}
	}
}
