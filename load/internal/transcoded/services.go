// Package transcoded is a client of the edge's transcoder, which offers the services' gRPC APIs as JSON.
//
// The edge only translates. A stream becomes a JSON array of its chunks. The edge cannot put a header into a field, so
// the idempotency key of a checkout is in the body.
package transcoded

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"google.golang.org/grpc/codes"

	"hopwise/load/internal/exchange"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/rest"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
)

// Services reaches the shop through the edge's transcoder, and has the methods that partners need.
type Services struct {
	shop.Services // nil, because transcoded journeys call only the methods below
	client        rest.Client
}

func NewServices(x *exchange.Exchange, token string) Services {
	return Services{client: rest.NewClient(x, token, problem)}
}

// problem reads google.rpc.Status as JSON.
func problem(body []byte) (outcome.Class, string, bool) {
	var p struct {
		Code    codes.Code `json:"code"`
		Message string     `json:"message"`
	}
	if json.Unmarshal(body, &p) != nil || p.Code == codes.OK {
		return "", "", false
	}
	return outcome.OfGRPC(p.Code), fmt.Sprintf("%s: %s", p.Code, p.Message), true
}

func (s Services) GetOrder(ctx context.Context, id int64) (shop.Order, error) {
	o, err := rest.Get[order](ctx, s.client, "/v1/orders/{id}", id, nil)
	return o.canonical(), err
}

func (s Services) BatchGetPayments(ctx context.Context, orders ...int64) ([]shop.Payment, error) {
	batch, err := rest.Get[struct {
		Payments []payment `json:"payments"`
	}](ctx, s.client, "/v1/payments:batchGetByOrder", 0, url.Values{"order_ids": shop.Mapped(orders, text)})
	return shop.Mapped(batch.Payments, payment.canonical), err
}

func (s Services) GetDocument(ctx context.Context, id int64) (shop.Document, error) {
	d, err := rest.Get[document](ctx, s.client, "/v1/documents/{id}", id, nil)
	return d.canonical(), err
}

func text(id int64) string { return strconv.FormatInt(id, 10) }

func (s Services) Checkout(ctx context.Context, p shop.Purchase) (shop.Order, error) {
	o, err := rest.Send[order](ctx, s.client, rest.Write{
		Method: http.MethodPost, Route: "/v1/orders", Expected: http.StatusOK,
		Body: struct {
			UserID         int64       `json:"user_id"`
			Lines          []shop.Item `json:"lines"`
			PaymentToken   string      `json:"payment_token"`
			IdempotencyKey string      `json:"idempotency_key"`
		}{p.UserID, p.Items, shopdata.PaymentToken, p.IdempotencyKey},
	})
	return o.canonical(), err
}

func (s Services) ExportLines(ctx context.Context, after int64) ([]shop.ExportedLine, error) {
	chunks, err := rest.Get[[]struct {
		Lines []exportedLine `json:"lines"`
	}](ctx, s.client, "/v1/order-lines", 0, url.Values{
		"after_line_id": {text(after)}, "limit": {strconv.Itoa(shopdata.BulkPage)},
	})
	lines := make([]shop.ExportedLine, 0, shopdata.BulkPage)
	for _, chunk := range chunks {
		for _, l := range chunk.Lines {
			lines = append(lines, l.canonical())
		}
	}
	return lines, err
}
