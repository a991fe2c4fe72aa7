package graph

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// What the query asks of the items of a list is read ahead, all of it in one call for each service; path leads from the
// current field to the items. What is read ahead of one service is one call to Expect: between two of them the machine may
// turn to something else for longer than a loader waits.

// ExpectProducts has the products that the query asks for by their ids at its root read together.
func ExpectProducts(ctx context.Context) {
	var ids []int64
	operation := graphql.GetOperationContext(ctx)
	all := selection{operation, []*ast.Field{{SelectionSet: operation.Operation.SelectionSet}}}
	for _, field := range all.inside("product").nodes {
		id, _ := field.ArgumentMap(operation.Variables)["id"].(string)
		if number, err := Number(id, "Product", "id"); err == nil {
			ids = append(ids, number)
		}
	}
	Of(ctx).Products.Expect(ids...)
}

// ExpectReviews has the reviews of products read ahead.
func ExpectReviews(ctx context.Context, products []*Product, path ...string) {
	r, reviews := Of(ctx), asked(ctx, append(path, "reviews")...)
	if len(reviews.inside("author").nodes) > 0 {
		r.authors.Store(true)
	}
	var keys []ReviewsKey
	for _, first := range reviews.firsts() {
		if CheckFirst(first, mostReviews) == nil {
			keys = append(keys, each(products, func(p *Product) ReviewsKey { return ReviewsKey{p.Id, first} })...)
		}
	}
	r.Reviews.Expect(keys...)
}

// ExpectOrders has the payments and products of orders read ahead.
func ExpectOrders(ctx context.Context, orders []*Order, path ...string) {
	r, order := Of(ctx), asked(ctx, path...)
	if len(order.inside("payment").nodes) > 0 {
		r.Payments.Expect(each(orders, func(o *Order) int64 { return o.Id })...)
	}
	if !order.inside("lines", "product").only(knownOfProduct) {
		var products []int64
		for _, order := range orders {
			products = append(products, each(order.Lines, func(l *OrderLine) int64 { return l.ProductId })...)
		}
		r.Products.Expect(products...)
	}
}

// ExpectLines has the products, orders and users of lines of the bulk read read ahead.
func ExpectLines(ctx context.Context, lines []*OrderLine, path ...string) {
	r, line := Of(ctx), asked(ctx, path...)
	if !line.inside("product").only(knownOfProduct) {
		r.Products.Expect(each(lines, func(l *OrderLine) int64 { return l.ProductId })...)
	}
	if !line.inside("order").only(knownByLine) || len(line.inside("lineNumber").nodes) > 0 {
		r.Orders.Expect(each(lines, func(l *OrderLine) int64 { return l.order.Id })...)
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

func each[T, K any](items []T, key func(T) K) []K {
	keys := make([]K, len(items))
	for place, item := range items {
		keys[place] = key(item)
	}
	return keys
}
