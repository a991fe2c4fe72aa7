package journey

import (
	"context"

	"hopwise/load/internal/shop"
)

// ProductCard shows a product as a card on a phone.
const ProductCard Name = "product_card"

var productCard = definition{
	name:    ProductCard,
	senders: everyone,
	needs:   []string{"product_id"},
	shows:   []string{"id", "price", "title"},
	draw:    product.draw,
	graphQL: asksProduct(newProductCardAnswer),
	composed: func(ctx context.Context, s shop.Services, p Params) (Answer, error) {
		product, err := s.GetProduct(ctx, p.ProductID)
		return newProductCardAnswer(product), err
	},
}

type productCardAnswer struct {
	ID    int64      `json:"id"`
	Price shop.Money `json:"price"`
	Title string     `json:"title"`
}

func newProductCardAnswer(p shop.Product) *productCardAnswer {
	return &productCardAnswer{ID: p.ID, Price: p.Price, Title: p.Title}
}

func (a *productCardAnswer) check(q Question) error {
	return checkID("product", a.ID, q.Params.ProductID)
}
