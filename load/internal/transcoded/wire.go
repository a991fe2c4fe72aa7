package transcoded

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"

	"hopwise/load/internal/answer"
	"hopwise/load/internal/exchange"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/outcome"
)

// The messages of the contract in protobuf's JSON form with the field names of the proto files, as far as the plans read
// them: int64 is a string, an enum its full name, a timestamp RFC 3339; fields of value zero may be absent.

const (
	orderPrefix   = "ORDER_STATUS_"
	paymentPrefix = "PAYMENT_STATUS_"
)

// enum is a value's full name.
type enum string

func (e enum) name(prefix string) string { return strings.TrimPrefix(string(e), prefix) }

type money struct {
	AmountMinor int64  `json:"amount_minor,string"`
	Currency    string `json:"currency"`
}

func (m money) canonical() answer.Money {
	return answer.Money{AmountMinor: m.AmountMinor, Currency: m.Currency}
}

type order struct {
	ID     int64       `json:"id,string"`
	Status enum        `json:"status"`
	Total  money       `json:"total"`
	Lines  []orderLine `json:"lines"`
}

type orderLine struct {
	LineNumber int64 `json:"line_number"`
	ProductID  int64 `json:"product_id,string"`
	Quantity   int64 `json:"quantity"`
	UnitPrice  money `json:"unit_price"`
}

type paymentBatch struct {
	Payments []struct {
		OrderID int64 `json:"order_id,string"`
		Status  enum  `json:"status"`
		Amount  money `json:"amount"`
	} `json:"payments"`
}

type lineChunk struct {
	Lines []struct {
		ID         int64  `json:"id,string"`
		OrderID    int64  `json:"order_id,string"`
		UserID     int64  `json:"user_id,string"`
		Status     enum   `json:"status"`
		CreateTime string `json:"create_time"`
		ProductID  int64  `json:"product_id,string"`
		Quantity   int64  `json:"quantity"`
		UnitPrice  money  `json:"unit_price"`
	} `json:"lines"`
}

type checkoutRequest struct {
	UserID         int64          `json:"user_id"`
	Lines          []journey.Line `json:"lines"`
	PaymentToken   string         `json:"payment_token"`
	IdempotencyKey string         `json:"idempotency_key"`
}

// problem is google.rpc.Status as JSON.
type problem struct {
	Code    codes.Code `json:"code"`
	Message string     `json:"message"`
}

// fetch sends a request and decodes the answer, whose status is 200 for every method.
func fetch[T any](ctx context.Context, x *exchange.Exchange, r exchange.Request) (T, error) {
	var body T
	response, err := x.Do(ctx, r)
	if err != nil {
		return body, err
	}
	if response.Status != http.StatusOK {
		return body, refusal(r, response)
	}
	if err := json.Unmarshal(response.Body, &body); err != nil {
		return body, outcome.Wrong("%s %s: the answer is not the JSON asked for: %w", r.Method, r.Route, err)
	}
	if !response.JSON() {
		return body, outcome.Wrong("%s %s: the answer is %q instead of JSON", r.Method, r.Route, response.Type)
	}
	return body, nil
}

// refusal classes an answer with another status: by its gRPC status if the body has one, else by the HTTP status.
func refusal(r exchange.Request, response exchange.Response) error {
	class := outcome.OfStatus(response.Status)
	if class == outcome.OK {
		return outcome.Wrong("%s %s: status %d instead of %d", r.Method, r.Route, response.Status, http.StatusOK)
	}
	var p problem
	if json.Unmarshal(response.Body, &p) != nil || p.Code == codes.OK {
		return outcome.Failed(class, "%s %s: status %d", r.Method, r.Route, response.Status)
	}
	return outcome.Failed(outcome.OfGRPC(p.Code), "%s %s: status %d, %s: %s", r.Method, r.Route, response.Status, p.Code, p.Message)
}

func (c call) get(route, path string, query map[string][]string) exchange.Request {
	return exchange.Request{Method: http.MethodGet, Route: route, Path: path, Query: query, Token: c.token}
}
