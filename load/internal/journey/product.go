package journey

import (
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
)

// Product looks at one product.
const Product Name = "product"

var product = definition{
	name:    Product,
	senders: everyone,
	needs:   []string{"product_id"},
	draw:    func(d dice) Params { return Params{ProductID: d.products.Draw(d.Source)} },
}

// ProductAnswer is the product.
type ProductAnswer struct {
	Category    string     `json:"category"`
	Description string     `json:"description"`
	ID          int64      `json:"id"`
	Price       shop.Money `json:"price"`
	Stock       int64      `json:"stock"`
	Title       string     `json:"title"`
}

// NewProductAnswer returns the answer that is this product.
func NewProductAnswer(p shop.Product) *ProductAnswer {
	return &ProductAnswer{
		Category: p.Category, Description: p.Description, ID: p.ID, Price: p.Price, Stock: p.Stock, Title: p.Title,
	}
}

func (a *ProductAnswer) check(q Question) error {
	if err := checkID("product", a.ID, q.Params.ProductID); err != nil {
		return err
	}
	if want := shopdata.CategoryOf(a.ID); a.Category != want {
		return outcome.Wrong("product %d has category %q instead of %q", a.ID, a.Category, want)
	}
	return nil
}
