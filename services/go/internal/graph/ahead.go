package graph

import "context"

// What the query asks of the items of a list is read ahead, all of it in one call for each service; path leads from the
// current field to the items.

// ExpectReviews has the reviews of products read ahead.
func ExpectReviews(ctx context.Context, products []*Product, path ...string) {
	r, reviews := Of(ctx), asked(ctx, append(path, "reviews")...)
	if len(reviews.inside("author").nodes) > 0 {
		r.authors.Store(true)
	}
	for _, first := range reviews.firsts() {
		if CheckFirst(first, mostReviews) == nil {
			r.Reviews.Expect(each(products, func(p *Product) ReviewsKey { return ReviewsKey{p.Id, first} })...)
		}
	}
}

// ExpectOrders has the payments and products of orders read ahead.
func ExpectOrders(ctx context.Context, orders []*Order, path ...string) {
	r, order := Of(ctx), asked(ctx, path...)
	if len(order.inside("payment").nodes) > 0 {
		r.Payments.Expect(each(orders, func(o *Order) int64 { return o.Id })...)
	}
	if !order.inside("lines", "product").only(knownOfProduct) {
		for _, order := range orders {
			r.Products.Expect(each(order.Lines, func(l *OrderLine) int64 { return l.ProductId })...)
		}
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
		for _, line := range lines {
			if line.order.UserId != 0 {
				r.Users.Expect(line.order.UserId)
			}
		}
	}
}

func each[T, K any](items []T, key func(T) K) []K {
	keys := make([]K, len(items))
	for place, item := range items {
		keys[place] = key(item)
	}
	return keys
}
