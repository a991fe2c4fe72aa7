package need

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"hopwise/proto/stubs/orderv1"
	"hopwise/proto/stubs/productv1"
	"hopwise/proto/stubs/typev1"
)

var card = Fields{"id", "title", "price"}

func TestOverFetchingOfJSON(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       Beyond
	}{
		{"a resource", `{"id":1,"title":"Lamp","price":{"amount_minor":5,"currency":"EUR"},"stock":3}`, Beyond{5, 1, 10, 10}},
		{"a page, whose token is no field", `{"products":[{"id":1,"title":"Lamp","price":{},"tags":["a","b"]}],"next_page_token":"x"}`, Beyond{4, 2, 17, 17}},
		{"GraphQL's answer", `{"data":{"product":{"id":"x","title":"Lamp","price":{"amountMinor":5,"currency":"EUR"}}}}`, Beyond{4, 0, 0, 0}},
		{"no resource of the need", `{"id":1,"title":"Lamp"}`, Beyond{}},
		{"no JSON", `{`, Beyond{}},
	} {
		if got := card.OfJSON([]byte(c.body), false); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	listed := `{"data":{"me":{"orders":{"edges":[{"node":{"id":"x","placedAt":"2025","lines":[{"quantity":1},{"quantity":2}]}}]}}}}`
	if got := (Fields{"id", "placed_at"}).OfJSON([]byte(listed), false); got.Fields != 4 || got.FieldsBeyond != 2 {
		t.Errorf("an order of GraphQL: %+v", got)
	}
}

func TestOverFetchingOfMessages(t *testing.T) {
	price := &typev1.Money{AmountMinor: 5, Currency: "EUR"}
	whole := &productv1.Product{Id: 1, Title: "Lamp", Price: price, Stock: 3, Description: "Gives light."}
	listed := &productv1.ListProductsResponse{Products: []*productv1.Product{whole, whole}, NextPageToken: "x"}
	beyond := int64(proto.Size(whole) - proto.Size(&productv1.Product{Id: 1, Title: "Lamp", Price: price}))
	if got, want := card.OfMessage(whole, false), (Beyond{6, 2, beyond, beyond}); got != want {
		t.Errorf("a resource: %+v, want %+v", got, want)
	}
	if got := card.OfMessage(listed, false); got.Fields != 12 || got.FieldsBeyond != 4 || got.BytesBeyond < 2*beyond {
		t.Errorf("a page: %+v", got)
	}
	order := &orderv1.Order{Id: 1, Lines: []*orderv1.OrderLine{{Quantity: 2}, {Quantity: 3}}}
	if got := (Fields{"id", "placed_at"}).OfMessage(order, false); got.Fields != 3 || got.FieldsBeyond != 2 {
		t.Errorf("an order: %+v", got)
	}
}

func TestCompressedBytesBeyondANeed(t *testing.T) {
	long := `{"id":1,"title":"Lamp","price":1,"description":"` + strings.Repeat("Gives light. ", 100) + `"}`
	got := card.OfJSON([]byte(long), true)
	if got.BytesBeyond < 1300 || got.PackedBeyond < 20 || got.PackedBeyond > 200 {
		t.Errorf("%+v", got)
	}
}
