package rest

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"hopwise/load/internal/answer"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shopdata"
)

// orderHistoryIncluded gets the orders with what belongs to them in one request.
func orderHistoryIncluded(ctx context.Context, c call) (answer.Answer, error) {
	orders, err := c.listOrders(ctx, "payment,products")
	if err != nil {
		return nil, err
	}
	titles, paid := map[int64]string{}, map[int64]string{}
	for _, o := range orders {
		paid[o.ID] = o.Payment.Status
		for _, p := range o.Products {
			titles[p.ID] = p.Title
		}
	}
	return composeHistory(orders, titles, paid), nil
}

// orderHistory gets the orders, then the products of all their lines and all their payments side by side.
func orderHistory(ctx context.Context, c call) (answer.Answer, error) {
	orders, err := c.listOrders(ctx, "")
	if err != nil {
		return nil, err
	}
	var ids, products []int64
	for _, o := range orders {
		ids = append(ids, o.ID)
		for _, l := range o.Lines {
			products = append(products, l.ProductID)
		}
	}
	slices.Sort(products)
	products = slices.Compact(products)

	titles := make(map[int64]string, len(products))
	paid := make(map[int64]string, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		found, err := fetch[productPage](ctx, c.x, c.get("/v1/products", "/v1/products", url.Values{
			"ids": {numbers(products)},
		}), http.StatusOK)
		for _, p := range found.Products {
			titles[p.ID] = p.Title
		}
		return err
	})
	group.Go(func() error {
		found, err := c.payments(ctx, ids...)
		for _, p := range found {
			paid[p.OrderID] = p.Status
		}
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return composeHistory(orders, titles, paid), nil
}

// orderHistoryOneByOne gets the payment of one order and the product of one line after the other, also a product again.
func orderHistoryOneByOne(ctx context.Context, c call) (answer.Answer, error) {
	orders, err := c.listOrders(ctx, "")
	if err != nil {
		return nil, err
	}
	titles, paid := map[int64]string{}, map[int64]string{}
	for _, o := range orders {
		found, err := c.payments(ctx, o.ID)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			paid[p.OrderID] = p.Status
		}
		for _, l := range o.Lines {
			p, err := c.product(ctx, l.ProductID, nil)
			if err != nil {
				return nil, err
			}
			titles[p.ID] = p.Title
		}
	}
	return composeHistory(orders, titles, paid), nil
}

// listOrders returns the user's orders; they are known to be the user's and to have lines.
func (c call) listOrders(ctx context.Context, include string) ([]order, error) {
	query := url.Values{"page_size": {strconv.Itoa(shopdata.OrdersPerRegular)}}
	if include != "" {
		query.Set("include", include)
	}
	path := "/v1/users/" + number(c.e.Params.UserID) + "/orders"
	page, err := fetch[orderPage](ctx, c.x, c.get("/v1/users/{id}/orders", path, query), http.StatusOK)
	if err != nil {
		return nil, err
	}
	lines := 0
	for _, o := range page.Orders {
		if o.UserID != c.e.Params.UserID {
			return nil, outcome.Wrong("order %d is of user %d instead of %d", o.ID, o.UserID, c.e.Params.UserID)
		}
		lines += len(o.Lines)
	}
	if lines == 0 {
		return nil, outcome.Wrong("the history has no order with lines")
	}
	return page.Orders, nil
}

func (c call) payments(ctx context.Context, orders ...int64) ([]payment, error) {
	found, err := fetch[paymentPage](ctx, c.x, c.get("/v1/payments", "/v1/payments", url.Values{
		"order_ids": {numbers(orders)},
	}), http.StatusOK)
	return found.Payments, err
}

func composeHistory(orders []order, titles, paid map[int64]string) *answer.OrderHistory {
	a := &answer.OrderHistory{Orders: make([]answer.HistoryOrder, 0, len(orders))}
	for _, o := range orders {
		sortLines(o.Lines)
		lines := make([]answer.HistoryLine, 0, len(o.Lines))
		for _, l := range o.Lines {
			lines = append(lines, answer.HistoryLine{
				ProductID: l.ProductID, Quantity: l.Quantity, Title: titles[l.ProductID], UnitPrice: l.UnitPrice,
			})
		}
		a.Orders = append(a.Orders, answer.HistoryOrder{
			ID: o.ID, Lines: lines, PaymentStatus: paid[o.ID],
			PlacedAt: answer.Instant(o.PlacedAt), Status: o.Status, Total: o.Total,
		})
	}
	return a
}

func number(id int64) string { return strconv.FormatInt(id, 10) }

func numbers(ids []int64) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = number(id)
	}
	return strings.Join(texts, ",")
}
