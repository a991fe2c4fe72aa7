package journey

import (
	"cmp"
	"context"
	"slices"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
	"hopwise/load/internal/target"
)

// Checkout buys one to five products.
const Checkout Name = "checkout"

const (
	maxItems    = 5
	maxQuantity = 2
)

var checkout = definition{
	name:    Checkout,
	senders: everyone,
	needs:   []string{"user_id", "lines", "idempotency_key"},
	draw: func(d dice) Params {
		return Params{UserID: d.From(d.scale.CheckoutUsers(d.pool)), Lines: d.items(), IdempotencyKey: d.idempotencyKey()}
	},
	federation: checkoutFederated,
	graphQL: asks(
		func(_ graphql.Client, e Entry) graphql.Variables {
			items := make([]graphql.Variables, 0, len(e.Params.Lines))
			for _, i := range e.Params.Lines {
				items = append(items, graphql.Variables{"productId": graphql.GlobalID("Product", i.ProductID), "quantity": i.Quantity})
			}
			input := graphql.Variables{
				"idempotencyKey": e.Params.IdempotencyKey, "lines": items, "paymentToken": shopdata.PaymentToken,
			}
			if e.Channel == target.Partner {
				input["userId"] = graphql.GlobalID("User", e.Params.UserID)
			}
			return graphql.Variables{"input": input}
		},
		func(data struct {
			Checkout struct {
				Order graphql.Order `json:"order"`
			} `json:"checkout"`
		}, _ Params) (Answer, error) {
			return newCheckoutAnswer(data.Checkout.Order.Canonical()), nil
		},
	),
	transcoded: true,
	composed: func(ctx context.Context, s shop.Services, p Params) (Answer, error) {
		order, err := s.Checkout(ctx, shop.Purchase{UserID: p.UserID, Items: p.Lines, IdempotencyKey: p.IdempotencyKey})
		return newCheckoutAnswer(order), err
	},
}

// items returns distinct products by ascending id.
func (d dice) items() []shop.Item {
	count := int(d.Between(1, maxItems))
	items := make([]shop.Item, 0, count)
	for len(items) < count {
		id := d.From(d.scale.CheckoutProducts(d.pool))
		if !slices.ContainsFunc(items, func(i shop.Item) bool { return i.ProductID == id }) {
			items = append(items, shop.Item{ProductID: id, Quantity: d.Between(1, maxQuantity)})
		}
	}
	slices.SortFunc(items, func(a, b shop.Item) int { return cmp.Compare(a.ProductID, b.ProductID) })
	return items
}

// checkoutAnswer is the confirmed order; its id differs from run to run, so the canonical form does not have it.
type checkoutAnswer struct {
	Lines   []checkoutLine `json:"lines"`
	OrderID int64          `json:"-"`
	Status  string         `json:"status"`
	Total   shop.Money     `json:"total"`
}

// checkoutLine is one line of a confirmed order; lines are in the order of their numbers.
type checkoutLine struct {
	ProductID int64      `json:"product_id"`
	Quantity  int64      `json:"quantity"`
	UnitPrice shop.Money `json:"unit_price"`
}

func newCheckoutAnswer(o shop.Order) *checkoutAnswer {
	o.SortLines()
	a := &checkoutAnswer{OrderID: o.ID, Status: o.Status, Total: o.Total}
	for _, l := range o.Lines {
		a.Lines = append(a.Lines, checkoutLine{ProductID: l.ProductID, Quantity: l.Quantity, UnitPrice: l.UnitPrice})
	}
	return a
}

func (a *checkoutAnswer) check(q Question) error {
	if a.Status != "CONFIRMED" {
		return outcome.Wrong("the order has status %q instead of CONFIRMED", a.Status)
	}
	if len(a.Lines) != len(q.Params.Lines) {
		return outcome.Wrong("the order has %d lines instead of %d", len(a.Lines), len(q.Params.Lines))
	}
	sum := int64(0)
	for i, line := range a.Lines {
		if asked := q.Params.Lines[i]; line.ProductID != asked.ProductID || line.Quantity != asked.Quantity {
			return outcome.Wrong("line %d is %d of product %d instead of %d of product %d",
				i+1, line.Quantity, line.ProductID, asked.Quantity, asked.ProductID)
		}
		if line.UnitPrice.Currency != a.Total.Currency {
			return outcome.Wrong("line %d is in %s, the total in %s", i+1, line.UnitPrice.Currency, a.Total.Currency)
		}
		sum += line.Quantity * line.UnitPrice.AmountMinor
	}
	if sum != a.Total.AmountMinor {
		return outcome.Wrong("the total is %d, the lines add up to %d", a.Total.AmountMinor, sum)
	}
	return nil
}

// OrderID returns the order's id from the answer to a checkout; 0 for the answer to any other journey.
func OrderID(a Answer) int64 {
	if order, ok := a.(*checkoutAnswer); ok {
		return order.OrderID
	}
	return 0
}
