package journey

import (
	"context"

	"golang.org/x/sync/errgroup"

	"hopwise/load/internal/shop"
)

// naive is the shop for a client that sends a request per item, one after another, even for repeated products.
type naive struct{ shop.Services }

func (n naive) ListReviewedProducts(ctx context.Context, category string) ([]shop.Product, error) {
	products, err := n.ListProducts(ctx, category)
	for i := 0; i < len(products) && err == nil; i++ {
		products[i], err = n.AddReviews(ctx, products[i])
	}
	return products, err
}

func (n naive) BatchGetProducts(ctx context.Context, ids []int64) ([]shop.Product, error) {
	products := make([]shop.Product, 0, len(ids))
	for _, id := range ids {
		product, err := n.GetProduct(ctx, id)
		if err != nil {
			return nil, err
		}
		products = append(products, product)
	}
	return products, nil
}

func (n naive) BatchGetPayments(ctx context.Context, orders ...int64) ([]shop.Payment, error) {
	var payments []shop.Payment
	for _, order := range orders {
		paid, err := n.Services.BatchGetPayments(ctx, order)
		if err != nil {
			return nil, err
		}
		payments = append(payments, paid...)
	}
	return payments, nil
}

// sideBySide makes the calls in parallel, or in sequence if the client is naive, and returns the first failure.
func sideBySide(ctx context.Context, s shop.Services, calls ...func(context.Context) error) error {
	group, together := errgroup.WithContext(ctx)
	_, inTurn := s.(naive)
	for _, call := range calls {
		if !inTurn {
			group.Go(func() error { return call(together) })
		} else if err := call(ctx); err != nil {
			return err
		}
	}
	return group.Wait()
}
