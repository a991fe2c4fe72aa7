package answer

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"hopwise/load/internal/journey"
)

var price = Money{1999, "EUR"}

var samples = []Answer{
	&Browse{Products: []BrowsedProduct{{ID: 1, Price: price, Reviews: []Review{{1, 5, "Good"}}, Stock: 3, Title: "A"}}},
	&Product{Category: "c0001", Description: "D", ID: 1, Price: price, Stock: 1, Title: "<b> & ü"},
	&Login{Email: "a@b", ID: 1, Name: "N"},
	&OrderHistory{Orders: []HistoryOrder{{1, []HistoryLine{{1, 2, "T", price}}, "CAPTURED", "2025-03-04T05:06:07Z", "SHIPPED", price}}},
	&Checkout{Lines: []CheckoutLine{{1, 2, price}}, OrderID: 9, Status: "CONFIRMED", Total: price},
	&UpdateProfile{Address: journey.Address{City: "C", CountryCode: "DE", PostalCode: "1", Recipient: "R", Street: "S"}, ID: 1},
	&OrderStatus{ID: 1, Payment: Payment{price, "CAPTURED"}, Status: "SHIPPED", Total: price},
	&BulkLines{Lines: []BulkLine{{1, 2, "2025-03-04T05:06:07Z", 3, 4, "SHIPPED", price, 5}}},
}

// Canonical JSON is what sorting all keys and leaving out all spaces gives, so that other programs can compute it.
func TestCanonicalIsSortedAndCompact(t *testing.T) {
	for _, a := range samples {
		got, err := Canonical(a)
		if err != nil {
			t.Fatal(err)
		}
		var anything any
		if err := json.Unmarshal(got, &anything); err != nil {
			t.Fatal(err)
		}
		var sorted bytes.Buffer // maps are encoded by ascending key
		encoder := json.NewEncoder(&sorted)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(anything); err != nil {
			t.Fatal(err)
		}
		if want := strings.TrimSuffix(sorted.String(), "\n"); string(got) != want {
			t.Errorf("canonical form\n%s\nsorted\n%s", got, want)
		}
	}
}

// The order's id differs from run to run, so it is kept apart from the canonical form.
func TestCheckoutHasNoOrderID(t *testing.T) {
	got, err := Canonical(samples[4])
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"lines":[{"product_id":1,"quantity":2,"unit_price":{"amount_minor":1999,"currency":"EUR"}}],` +
		`"status":"CONFIRMED","total":{"amount_minor":1999,"currency":"EUR"}}`
	if string(got) != want {
		t.Errorf("got %s", got)
	}
}

// Whole answers pass; the first field without a value is named by its path.
func TestComplete(t *testing.T) {
	for _, a := range samples {
		if err := complete(a); err != nil {
			t.Errorf("%T: %v", a, err)
		}
	}
	cases := []struct {
		answer Answer
		want   string
	}{
		{&Login{Email: "a@b", ID: 1}, "the answer has no name"},
		{&Product{Category: "c", Description: "D", ID: 1, Price: Money{1, ""}, Stock: 1, Title: "T"}, "the answer has no price.currency"},
		{&Checkout{Lines: []CheckoutLine{{1, 2, price}}, Status: "CONFIRMED", Total: price}, "the answer has no order id"},
		{&BulkLines{Lines: []BulkLine{{ID: 1}}}, "the answer has no lines[0].order_id"},
	}
	for _, c := range cases {
		if err := complete(c.answer); err == nil || err.Error() != c.want {
			t.Errorf("error is %v, expected %q", err, c.want)
		}
	}
}

// Times are whole seconds in UTC; another zone is the same instant, anything else is no time at all.
func TestInstant(t *testing.T) {
	for text, want := range map[string]string{
		"2025-03-04T05:06:07Z":      "2025-03-04T05:06:07Z",
		"2025-03-04T06:06:07+01:00": "2025-03-04T05:06:07Z",
		"2025-03-04T05:06:07.5Z":    "",
		"2025-03-04 05:06:07":       "",
		"":                          "",
	} {
		if got := Instant(text); got != want {
			t.Errorf("%q gives %q, expected %q", text, got, want)
		}
	}
}
