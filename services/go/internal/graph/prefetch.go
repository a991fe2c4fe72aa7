package graph

import (
	"context"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"hopwise/proto/stubs/productv1"
	"hopwise/services/internal/lists"
)

// The functions here prefetch what a query needs for the items of a list, with one call to each service; path leads
// from the current field to the items. Each function calls a loader's Expect only once: between two calls, the scheduler
// may run other work for longer than a loader waits.

// ExpectProducts prefetches, in one call, the products that the query selects at its root, as products or as nodes.
func ExpectProducts(ctx context.Context) {
	var plain []int64
	var reviewed []ReviewsKey
	r, operation := Of(ctx), graphql.GetOperationContext(ctx)
	if root := operation.Operation.SelectionSet; len(root) == 1 && root[0] == ast.Selection(graphql.GetFieldContext(ctx).Field.Field) {
		return // the product of this call is the only one
	}
	all := selection{operation, []graphql.CollectedField{{Field: new(ast.Field), Selections: operation.Operation.SelectionSet}}}
	for _, field := range slices.Concat(all.inside("product").nodes, all.inside("node").nodes) {
		id, _ := field.ArgumentMap(operation.Variables)["id"].(string)
		if number, err := Number(id, "Product", "id"); err != nil {
			continue
		} else if reviews := r.reviewsOf(selection{operation, []graphql.CollectedField{field}}); reviews > 0 {
			reviewed = append(reviewed, ReviewsKey{number, reviews})
		} else {
			plain = append(plain, number)
		}
	}
	r.Products.Expect(plain...)
	r.Reviewed.Expect(reviewed...)
}

// CountReviews returns the maximum number of reviews that the query selects for each product; path leads from the
// current field to the products.
func CountReviews(ctx context.Context, path ...string) int32 {
	return Of(ctx).reviewsOf(selectAt(ctx, path...))
}

// reviewsOf returns the maximum number of reviews in a selection of products; invalid lengths do not count.
func (r *Request) reviewsOf(products selection) (most int32) {
	reviews := products.inside("reviews")
	if len(reviews.inside("author").nodes) > 0 {
		r.authors.Store(true)
	}
	for _, first := range reviews.firsts() {
		if CheckFirst(first, maxReviews) == nil {
			most = max(most, first)
		}
	}
	return most
}

// ExpectReviews prefetches the reviews of products that were read without reviews.
func (r *Request) ExpectReviews(products []*Product, reviews int32) {
	if reviews > 0 {
		r.Reviews.Expect(lists.Map(products, func(p *Product) ReviewsKey { return ReviewsKey{p.Id, reviews} })...)
	}
}

// ExpectAuthors prefetches the authors of the products' reviews, if the query selects them.
func (r *Request) ExpectAuthors(products ...*Product) {
	if r.authors.Load() {
		var authors []int64
		for _, product := range products {
			authors = append(authors, lists.Map(product.firstReviews, (*productv1.Review).GetUserId)...)
		}
		r.Users.Expect(authors...)
	}
}

// ExpectOrders prefetches the payments and products of orders.
func ExpectOrders(ctx context.Context, orders []*Order, path ...string) {
	r, order := Of(ctx), selectAt(ctx, path...)
	if len(order.inside("payment").nodes) > 0 {
		r.Payments.Expect(lists.Map(orders, func(o *Order) int64 { return o.Id })...)
	}
	if !order.inside("lines", "product").only(knownOfProduct) {
		var products []int64
		for _, order := range orders {
			products = append(products, lists.Map(order.Lines, func(l *OrderLine) int64 { return l.ProductId })...)
		}
		r.Products.Expect(products...)
	}
}

// ExpectLines prefetches the products, orders and users of the bulk read's lines.
func ExpectLines(ctx context.Context, lines []*OrderLine, path ...string) {
	r, line := Of(ctx), selectAt(ctx, path...)
	if !line.inside("product").only(knownOfProduct) {
		r.Products.Expect(lists.Map(lines, func(l *OrderLine) int64 { return l.ProductId })...)
	}
	if !line.inside("order").only(knownByLine) || len(line.inside("lineNumber").nodes) > 0 {
		r.Orders.Expect(lists.Map(lines, func(l *OrderLine) int64 { return l.order.Id })...)
	}
	if !line.inside("order", "user").only(knownOfUser) {
		var users []int64
		for _, line := range lines {
			if line.order.UserId != 0 {
				users = append(users, line.order.UserId)
			}
		}
		r.Users.Expect(users...)
	}
}
