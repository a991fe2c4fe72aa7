package journey

import (
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
)

// Browse looks at the first page of a category, with the reviews of its products.
const Browse Name = "browse"

var browse = definition{
	name:    Browse,
	senders: everyone,
	needs:   []string{"category"},
	draw: func(d dice) Params {
		return Params{Category: shopdata.CategoryName(d.categories.Draw(d.Source))}
	},
}

// BrowseAnswer has products by ascending id, their reviews too.
type BrowseAnswer struct {
	Products []BrowsedProduct `json:"products"`
}

// BrowsedProduct is one product of a page.
type BrowsedProduct struct {
	ID      int64         `json:"id"`
	Price   shop.Money    `json:"price"`
	Reviews []shop.Review `json:"reviews"`
	Stock   int64         `json:"stock"`
	Title   string        `json:"title"`
}

// NewBrowseAnswer returns the answer that has these products.
func NewBrowseAnswer(products []shop.Product) *BrowseAnswer {
	a := &BrowseAnswer{Products: make([]BrowsedProduct, 0, len(products))}
	for _, p := range products {
		a.Products = append(a.Products, BrowsedProduct{ID: p.ID, Price: p.Price, Reviews: p.Reviews, Stock: p.Stock, Title: p.Title})
	}
	return a
}

func (a *BrowseAnswer) check(q Question) error {
	if len(a.Products) != shopdata.BrowsePage {
		return outcome.Wrong("the page has %d products instead of %d", len(a.Products), shopdata.BrowsePage)
	}
	for i, p := range a.Products {
		if shopdata.CategoryOf(p.ID) != q.Params.Category {
			return outcome.Wrong("product %d is not of category %s", p.ID, q.Params.Category)
		}
		if i > 0 && p.ID <= a.Products[i-1].ID {
			return outcome.Wrong("product %d comes twice", p.ID)
		}
		expected := shopdata.ReviewIDs(p.ID)
		if len(p.Reviews) != len(expected) {
			return outcome.Wrong("product %d has %d reviews instead of %d", p.ID, len(p.Reviews), len(expected))
		}
		for k, review := range p.Reviews {
			if review.ID != expected[k] {
				return outcome.Wrong("product %d has review %d instead of %d", p.ID, review.ID, expected[k])
			}
			if review.Rating < 1 || review.Rating > 5 {
				return outcome.Wrong("review %d has rating %d", review.ID, review.Rating)
			}
		}
	}
	return nil
}
