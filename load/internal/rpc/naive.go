package rpc

import (
	"context"

	"hopwise/load/internal/answer"
	"hopwise/load/internal/stubs/orderv1"
	"hopwise/load/internal/stubs/productv1"
)

// browseOneByOne gets the reviews of one product after the other.
func browseOneByOne(ctx context.Context, c call) (answer.Answer, error) {
	page, err := c.listProducts(ctx)
	if err != nil {
		return nil, err
	}
	reviews := make(map[int64][]*productv1.Review, len(page.Products))
	for _, p := range page.Products {
		found, err := c.product.BatchListReviews(ctx, &productv1.BatchListReviewsRequest{ProductIds: []int64{p.Id}})
		if err != nil {
			return nil, err
		}
		for _, of := range found.Products {
			reviews[of.ProductId] = of.Reviews
		}
	}
	return browsed(page.Products, reviews), nil
}

// orderHistoryOneByOne gets the payment of one order and the product of one line after the other, also a product again.
func orderHistoryOneByOne(ctx context.Context, c call) (answer.Answer, error) {
	orders, err := c.listOrders(ctx)
	if err != nil {
		return nil, err
	}
	titles, paid := map[int64]string{}, map[int64]string{}
	for _, o := range orders {
		payments, err := c.payments(ctx, o.Id)
		if err != nil {
			return nil, err
		}
		for _, p := range payments {
			paid[p.OrderId] = paymentStatus(p.Status)
		}
		for _, l := range o.Lines {
			p, err := c.product.GetProduct(ctx, &productv1.GetProductRequest{Id: l.ProductId})
			if err != nil {
				return nil, err
			}
			titles[p.Id] = p.Title
		}
	}
	return history(orders, titles, paid), nil
}

// orderStatusOneByOne gets the order, then its payment.
func orderStatusOneByOne(ctx context.Context, c call) (answer.Answer, error) {
	o, err := c.order.GetOrder(ctx, &orderv1.GetOrderRequest{Id: c.e.Params.OrderID})
	if err != nil {
		return nil, err
	}
	paid, err := c.payments(ctx, o.Id)
	if err != nil {
		return nil, err
	}
	return statusOf(o, paid), nil
}
