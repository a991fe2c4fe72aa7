package journey

import (
	"context"

	"hopwise/load/internal/shop"
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
	graphQL:    asksPage(newProductFeedAnswer),
	composed: func(ctx context.Context, s shop.Services, p Params) (Answer, error) {
		products, err := s.ListProducts(ctx, p.Category)
		return newProductFeedAnswer(products), err
	},
}

// productFeedAnswer has products in ascending order of their ids.
type productFeedAnswer struct {
	Products []fedProduct `json:"products"`
}

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
	return checkPage(q, "feed", a.Products, func(p fedProduct) int64 { return p.ID })
}
