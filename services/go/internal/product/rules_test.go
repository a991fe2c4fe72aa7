package product

import (
	"errors"
	"math"
	"testing"

	pb "hopwise/proto/stubs/productv1"
	"hopwise/proto/stubs/typev1"
	"hopwise/services/internal/access"
	"hopwise/services/internal/shoperr"
)

func code(err error) shoperr.Code {
	failure := new(shoperr.Error)
	if errors.As(err, &failure) {
		return failure.Code
	}
	return ""
}

func TestAccessOfEveryMethod(t *testing.T) {
	rules := access.RulesOf(pb.File_shop_product_v1_product_proto)
	for name, rule := range rules {
		if rule.GetAccess() == typev1.Access_ACCESS_UNSPECIFIED {
			t.Errorf("%s has no rule: nobody might call it", name)
		}
		if rule.GetOwner() != "" {
			t.Errorf("%s concerns a user; this service does not look whose things are", name)
		}
	}
	for name, want := range map[string]access.Level{
		pb.ProductService_GetProduct_FullMethodName:    typev1.Access_ACCESS_EVERYBODY,
		pb.ProductService_CreateProduct_FullMethodName: typev1.Access_ACCESS_PARTNER,
		pb.ProductService_ReserveStock_FullMethodName:  typev1.Access_ACCESS_INTERNAL,
	} {
		if got := rules[name].GetAccess(); got != want {
			t.Errorf("%s admits %v, want %v", name, got, want)
		}
	}
}

func TestReserve(t *testing.T) {
	price := &typev1.Money{AmountMinor: 300, Currency: "EUR"}
	products := []*pb.Product{{Id: 1, Stock: 5, Price: price}, {Id: 2, Stock: 1, Price: price}}
	lines := []*pb.StockLine{{ProductId: 2, Quantity: 1}, {ProductId: 1, Quantity: 5}}
	reserved, err := reserve(lines, products)
	if err != nil || len(reserved) != 2 || reserved[0].ProductId != 1 || reserved[1].UnitPrice != price {
		t.Errorf("got %v, %v", reserved, err)
	}
	lines[0].Quantity = 2
	if _, err := reserve(lines, products); code(err) != shoperr.OutOfStock {
		t.Errorf("got %v", err)
	}
	if _, err := reserve(lines, products[:1]); code(err) != shoperr.NotFound {
		t.Errorf("got %v", err)
	}
}

func TestRepeatedReservation(t *testing.T) {
	reservation := &pb.Reservation{Id: "r", State: confirmed, Lines: []*pb.ReservedLine{{ProductId: 1, Quantity: 2}}}
	same, other := []*pb.StockLine{{ProductId: 1, Quantity: 2}}, []*pb.StockLine{{ProductId: 1, Quantity: 3}}
	if err := checkAgain(reservation, same); err != nil {
		t.Error(err)
	}
	for _, lines := range [][]*pb.StockLine{other, nil, append(same, other...)} {
		if err := checkAgain(reservation, lines); code(err) != shoperr.FailedPrecondition {
			t.Errorf("%v: got %v", lines, err)
		}
	}
	reservation.State = released
	if err := checkAgain(reservation, same); code(err) != shoperr.FailedPrecondition {
		t.Errorf("got %v", err)
	}
}

func TestMask(t *testing.T) {
	p := &pb.Product{Title: "New", Stock: 3}
	changed, err := changeOf(p, []string{"stock"})
	if err != nil || changed.title != nil || changed.stock == nil || *changed.stock != 3 {
		t.Errorf("got %v, %v", changed, err)
	}
	for _, mask := range [][]string{nil, {"id"}, {"title", "price.currency"}} {
		if _, err := changeOf(p, mask); code(err) != shoperr.InvalidArgument {
			t.Errorf("%v: got %v", mask, err)
		}
	}
	// In a message without a price, the price is the mistake.
	changed, err = changeOf(nil, []string{"price"})
	if err != nil || code(changed.check()) != shoperr.InvalidArgument {
		t.Errorf("got %v, %v", changed, err)
	}
}

func TestExpectedStock(t *testing.T) {
	for stock, want := range map[int64]shoperr.Code{math.MinInt64: shoperr.InvalidArgument, 0: "", math.MaxInt64: ""} {
		if err := checkExpected(&pb.Product{Id: 1, Stock: stock}, 1); code(err) != want {
			t.Errorf("%d: got %v", stock, err)
		}
	}
}
