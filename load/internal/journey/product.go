package journey

import (
	"context"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
)

const Product Name = "product"

var product = definition{
	name:    Product,
	senders: everyone,
	needs:   []string{"product_id"},
	draw:    func(d dice) Params { return Params{ProductID: d.products.Draw(d.Source)} },
	graphQL: asksProduct(newProductAnswer),
	composed: func(ctx context.Context, s shop.Services, p Params) (Answer, error) {
		product, err := s.GetProduct(ctx, p.ProductID)
		return newProductAnswer(product), err
	},
}

// asksProduct returns the plan that sends a document about one product.
func asksProduct[A Answer](answer func(shop.Product) A) graphQLPlan {
	return asks(
		func(c graphql.Client, e Entry) graphql.Variables {
			return graphql.Variables{"id": c.ID("Product", e.Params.ProductID)}
		},
		func(data struct {
			Product graphql.Product `json:"product"`
		}, _ Params) (Answer, error) {
			return answer(data.Product.Canonical()), nil
		},
	)
}

type productAnswer struct {
	Category    string     `json:"category"`
	Description string     `json:"description"`
	ID          int64      `json:"id"`
	Price       shop.Money `json:"price"`
	Stock       int64      `json:"stock"`
	Title       string     `json:"title"`
}

func newProductAnswer(p shop.Product) *productAnswer {
	return &productAnswer{
		Category: p.Category, Description: p.Description, ID: p.ID, Price: p.Price, Stock: p.Stock, Title: p.Title,
	}
}

func (a *productAnswer) check(q Question) error {
	if err := checkID("product", a.ID, q.Params.ProductID); err != nil {
		return err
	}
	if want := shopdata.CategoryOf(a.ID); a.Category != want {
		return outcome.Wrong("product %d has category %q instead of %q", a.ID, a.Category, want)
	}
	return nil
}
