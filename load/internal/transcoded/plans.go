package transcoded

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"hopwise/load/internal/answer"
	"hopwise/load/internal/exchange"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shopdata"
)

func checkout(ctx context.Context, c call) (answer.Answer, error) {
	body, err := json.Marshal(checkoutRequest{c.e.Params.UserID, c.e.Params.Lines, shopdata.PaymentToken, c.e.Params.IdempotencyKey})
	if err != nil {
		return nil, outcome.Failed(outcome.Client, "POST /v1/orders: %w", err)
	}
	o, err := fetch[order](ctx, c.x, exchange.Request{
		Method: http.MethodPost, Route: "/v1/orders", Path: "/v1/orders", Token: c.token, Body: body,
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(o.Lines, func(a, b orderLine) int { return cmp.Compare(a.LineNumber, b.LineNumber) })
	a := &answer.Checkout{OrderID: o.ID, Status: o.Status.name(orderPrefix), Total: o.Total.canonical()}
	for _, l := range o.Lines {
		a.Lines = append(a.Lines, answer.CheckoutLine{ProductID: l.ProductID, Quantity: l.Quantity, UnitPrice: l.UnitPrice.canonical()})
	}
	return a, nil
}

// orderStatus gets the order and its payment side by side.
func orderStatus(ctx context.Context, c call) (answer.Answer, error) {
	var (
		o    order
		paid paymentBatch
		id   = strconv.FormatInt(c.e.Params.OrderID, 10)
	)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		o, err = fetch[order](ctx, c.x, c.get("/v1/orders/{id}", "/v1/orders/"+id, nil))
		return err
	})
	group.Go(func() (err error) {
		const path = "/v1/payments:batchGetByOrder"
		paid, err = fetch[paymentBatch](ctx, c.x, c.get(path, path, url.Values{"order_ids": {id}}))
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	a := &answer.OrderStatus{ID: o.ID, Status: o.Status.name(orderPrefix), Total: o.Total.canonical()}
	for _, p := range paid.Payments {
		if p.OrderID == o.ID {
			a.Payment = answer.Payment{Amount: p.Amount.canonical(), Status: p.Status.name(paymentPrefix)}
		}
	}
	return a, nil
}

func bulkLines(ctx context.Context, c call) (answer.Answer, error) {
	chunks, err := fetch[[]lineChunk](ctx, c.x, c.get("/v1/order-lines", "/v1/order-lines", url.Values{
		"after_line_id": {strconv.FormatInt(*c.e.Params.AfterLineID, 10)},
		"limit":         {strconv.Itoa(shopdata.BulkPage)},
	}))
	if err != nil {
		return nil, err
	}
	a := &answer.BulkLines{Lines: make([]answer.BulkLine, 0, shopdata.BulkPage)}
	for _, chunk := range chunks {
		for _, l := range chunk.Lines {
			a.Lines = append(a.Lines, answer.BulkLine{
				ID: l.ID, OrderID: l.OrderID, PlacedAt: answer.Instant(l.CreateTime), ProductID: l.ProductID, Quantity: l.Quantity,
				Status: l.Status.name(orderPrefix), UnitPrice: l.UnitPrice.canonical(), UserID: l.UserID,
			})
		}
	}
	return a, nil
}
