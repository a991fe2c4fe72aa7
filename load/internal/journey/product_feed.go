package journey

import (
	"context"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
)

// ProductFeed reads the prices and stock of a category for a partner.
const ProductFeed Name = "product_feed"

var productFeed = definition{
	name:       ProductFeed,
	senders:    everyone,
	needs:      []string{"category"},
	shows:      []string{"id", "price", "stock"},
	draw:       browse.draw,
	federation: productFeedFederated,
	graphQL: asks(
		func(e Entry) graphql.Variables { return graphql.Variables{"category": e.Params.Category} },
		func(data struct {
			Products graphql.Connection[graphql.Product] `json:"products"`
		}, _ Params) (Answer, error) {
			return newProductFeedAnswer(graphql.Nodes(data.Products)), nil
		},
	),
	composed: func(ctx context.Context, s shop.Services, p Params) (Answer, error) {
		products, err := s.ListProducts(ctx, p.Category)
		return newProductFeedAnswer(products), err
	},
}

// productFeedAnswer has products by ascending id.
type productFeedAnswer struct {
	Products []fedProduct `json:"products"`
}

// fedProduct is what the feed has of a product.
type fedProduct struct {
	ID    int64      `json:"id"`
	Price shop.Money `json:"price"`
	Stock int64      `json:"stock"`
}

func newProductFeedAnswer(products []shop.Product) *productFeedAnswer {
	a := &productFeedAnswer{Products: make([]fedProduct, len(products))}
	for i, p := range products {
		a.Products[i] = fedProduct{ID: p.ID, Price: p.Price, Stock: p.Stock}
	}
	return a
}

func (a *productFeedAnswer) check(q Question) error {
	if len(a.Products) != shopdata.BrowsePage {
		return outcome.Wrong("the feed has %d products instead of %d", len(a.Products), shopdata.BrowsePage)
	}
	for i, p := range a.Products {
		if shopdata.CategoryOf(p.ID) != q.Params.Category {
			return outcome.Wrong("product %d is not of category %s", p.ID, q.Params.Category)
		}
		if i > 0 && p.ID <= a.Products[i-1].ID {
			return outcome.Wrong("product %d comes twice", p.ID)
		}
	}
	return nil
}
