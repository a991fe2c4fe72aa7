package readmask

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"hopwise/proto/stubs/orderv1"
	"hopwise/proto/stubs/productv1"
	"hopwise/proto/stubs/typev1"
)

const (
	getProduct = "/shop.product.v1.ProductService/GetProduct"
	listOrders = "/shop.order.v1.OrderService/ListOrdersByUser"
)

func product(paths ...string) *productv1.GetProductRequest {
	return &productv1.GetProductRequest{Id: 1, ReadMask: &fieldmaskpb.FieldMask{Paths: paths}}
}

func TestKeepLeavesTheFieldsOfTheMask(t *testing.T) {
	price := &typev1.Money{AmountMinor: 5, Currency: "EUR"}
	whole := &productv1.Product{Id: 1, Title: "Lamp", Price: price, Stock: 3}
	for _, c := range []struct {
		paths []string
		want  *productv1.Product
	}{
		{nil, whole},
		{[]string{"id", "*"}, whole},
		{[]string{"title", "id"}, &productv1.Product{Id: 1, Title: "Lamp"}},
		{[]string{"price.currency"}, &productv1.Product{Price: &typev1.Money{Currency: "EUR"}}},
		{[]string{"price.currency", "price"}, &productv1.Product{Price: price}},
		{[]string{"price", "price.currency"}, &productv1.Product{Price: price}},
	} {
		mask, err := Of(product(c.paths...), getProduct)
		if err != nil {
			t.Fatal(err)
		}
		got := proto.Clone(whole)
		mask.Keep(got)
		if !proto.Equal(got, c.want) {
			t.Errorf("%v leaves %v, want %v", c.paths, got, c.want)
		}
	}
}

func TestKeepReachesEachEntryOfLists(t *testing.T) {
	mask, err := Of(&orderv1.ListOrdersByUserRequest{ReadMask: &fieldmaskpb.FieldMask{Paths: []string{"id", "lines.*.quantity"}}}, listOrders)
	if err != nil {
		t.Fatal(err)
	}
	got := &orderv1.ListOrdersByUserResponse{NextPageToken: "next", Orders: []*orderv1.Order{
		{Id: 1, UserId: 2, Lines: []*orderv1.OrderLine{{Id: 3, Quantity: 4}, {Id: 5, Quantity: 6}}},
	}}
	mask.Keep(got)
	want := &orderv1.ListOrdersByUserResponse{NextPageToken: "next", Orders: []*orderv1.Order{
		{Id: 1, Lines: []*orderv1.OrderLine{{Quantity: 4}, {Quantity: 6}}},
	}}
	if !proto.Equal(got, want) {
		t.Errorf("it leaves %v, want %v", got, want)
	}
}

func TestAnUnknownPathIsRefusedWithTheValidOnes(t *testing.T) {
	for path, valid := range map[string]string{
		"secret":         "valid: id, title, description, category, price, stock",
		"price.secret":   "valid: price.amount_minor, price.currency",
		"title.length":   "valid: title",
		"":               "valid: id, title",
		"price.*.amount": "valid: price.amount_minor, price.currency",
	} {
		if _, err := Of(product("id", path), getProduct); err == nil || !strings.Contains(err.Error(), valid) {
			t.Errorf("%q is answered with %v, want an error with %q", path, err, valid)
		}
	}
	if _, err := Of(product(make([]string, maxPaths+1)...), getProduct); err == nil {
		t.Error("too many paths are let through")
	}
}
