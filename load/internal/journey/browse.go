package journey

import (
	"context"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
)

// Browse reads the first page of a category, with the reviews of its products.
const Browse Name = "browse"

var browse = definition{
	name:       Browse,
	senders:    everyone,
	needs:      []string{"category"},
	draw:       func(d dice) Params { return Params{Category: shopdata.CategoryName(d.categories.Draw(d.Source))} },
	federation: browseFederated,
	graphQL:    asksPage(newBrowseAnswer),
	composed: func(ctx context.Context, s shop.Services, p Params) (Answer, error) {
		products, err := s.ListReviewedProducts(ctx, p.Category)
		return newBrowseAnswer(products), err
	},
}

// asksPage returns the plan that sends a document for the first page of a category.
func asksPage[A Answer](answer func([]shop.Product) A) graphQLPlan {
	return asks(
		func(_ graphql.Client, e Entry) graphql.Variables {
			return graphql.Variables{"category": e.Params.Category}
		},
		func(data struct {
			Products graphql.Connection[graphql.Product] `json:"products"`
		}, _ Params) (Answer, error) {
			return answer(graphql.Nodes(data.Products)), nil
		},
	)
}

// checkPage checks that products are the complete first page of the category, in ascending order of their ids.
func checkPage[P any](q Question, called string, products []P, id func(P) int64) error {
	if len(products) != shopdata.BrowsePage {
		return outcome.Wrong("the %s has %d products instead of %d", called, len(products), shopdata.BrowsePage)
	}
	for i, p := range products {
		if shopdata.CategoryOf(id(p)) != q.Params.Category {
			return outcome.Wrong("product %d is not in category %s", id(p), q.Params.Category)
		}
		if i > 0 && id(p) <= id(products[i-1]) {
			return outcome.Wrong("product %d comes twice or out of order", id(p))
		}
	}
	return nil
}

// browseAnswer has products and their reviews, both in ascending order of their ids.
type browseAnswer struct {
	Products []browsedProduct `json:"products"`
}

type browsedProduct struct {
	ID      int64         `json:"id"`
	Price   shop.Money    `json:"price"`
	Reviews []shop.Review `json:"reviews"`
	Stock   int64         `json:"stock"`
	Title   string        `json:"title"`
}

func newBrowseAnswer(products []shop.Product) *browseAnswer {
	a := &browseAnswer{Products: make([]browsedProduct, 0, len(products))}
	for _, p := range products {
		a.Products = append(a.Products, browsedProduct{ID: p.ID, Price: p.Price, Reviews: p.Reviews, Stock: p.Stock, Title: p.Title})
	}
	return a
}

func (a *browseAnswer) check(q Question) error {
	if err := checkPage(q, "page", a.Products, func(p browsedProduct) int64 { return p.ID }); err != nil {
		return err
	}
	for _, p := range a.Products {
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
