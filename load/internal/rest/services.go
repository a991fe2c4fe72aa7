// Package rest is a client of the services' REST APIs, and of the REST gateway that joins their data.
package rest

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"hopwise/load/internal/exchange"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
)

type Services struct {
	Client
	fields []string // selected fields of products and orders; empty for all
}

var _ shop.Services = Services{}

type page struct {
	Products []shop.Product      `json:"products"`
	Orders   []shop.Order        `json:"orders"`
	Payments []shop.Payment      `json:"payments"`
	Lines    []shop.ExportedLine `json:"lines"`

	Notifications []shop.Notification `json:"notifications"`
}

// NewServices returns access to the shop in the session of the token. Reads select the fields; all without fields.
func NewServices(x *exchange.Exchange, token string, fields ...string) Services {
	return Services{NewClient(x, token, shopProblem), fields}
}

func (s Services) selecting(query url.Values) url.Values {
	if len(s.fields) > 0 {
		query.Set("fields", strings.Join(s.fields, ","))
	}
	return query
}

func (s Services) ListProducts(ctx context.Context, category string) ([]shop.Product, error) {
	return s.listProducts(ctx, url.Values{"category": {category}, "page_size": {strconv.Itoa(shopdata.BrowsePage)}})
}

// ListReviewedProducts sends one request, because each product comes with its reviews.
func (s Services) ListReviewedProducts(ctx context.Context, category string) ([]shop.Product, error) {
	return s.listProducts(ctx, url.Values{
		"category": {category}, "page_size": {strconv.Itoa(shopdata.BrowsePage)}, "include": {"reviews"},
	})
}

func (s Services) BatchGetProducts(ctx context.Context, ids []int64) ([]shop.Product, error) {
	return s.listProducts(ctx, url.Values{"ids": {numbers(shop.Distinct(ids))}})
}

func (s Services) listProducts(ctx context.Context, query url.Values) ([]shop.Product, error) {
	page, err := Get[page](ctx, s.Client, "/v1/products", 0, s.selecting(query))
	return page.Products, err
}

func (s Services) AddReviews(ctx context.Context, listed shop.Product) (shop.Product, error) {
	return Get[shop.Product](ctx, s.Client, "/v1/products/{id}", listed.ID, url.Values{"include": {"reviews"}})
}

func (s Services) GetProduct(ctx context.Context, id int64) (shop.Product, error) {
	return Get[shop.Product](ctx, s.Client, "/v1/products/{id}", id, s.selecting(url.Values{}))
}

func (s Services) GetDocument(ctx context.Context, id int64) (shop.Document, error) {
	return Get[shop.Document](ctx, s.Client, "/v1/documents/{id}", id, nil)
}

func (s Services) Login(ctx context.Context, email, password string) (shop.Session, error) {
	return Send[shop.Session](ctx, s.Client, Write{
		Method: http.MethodPost, Route: "/v1/sessions", Expected: http.StatusCreated,
		Body: struct {
			Email    string `json:"email"`
			Password string `json:"password"`
		}{email, password},
	})
}

func (s Services) GetUser(ctx context.Context, id int64, token string) (shop.User, error) {
	s.token = token
	return Get[shop.User](ctx, s.Client, "/v1/users/{id}", id, nil)
}

func (s Services) UpdateAddress(ctx context.Context, id int64, address shop.Address) (shop.User, error) {
	return Send[shop.User](ctx, s.Client, Write{
		Method: http.MethodPatch, Route: "/v1/users/{id}", ID: id, Expected: http.StatusOK,
		Body: struct {
			Address shop.Address `json:"address"`
		}{address},
	})
}

func (s Services) ListOrders(ctx context.Context, user int64) ([]shop.Order, error) {
	page, err := Get[page](ctx, s.Client, "/v1/users/{id}/orders", user, s.selecting(latestOrders()))
	return page.Orders, err
}

func (s Services) ListNotifications(ctx context.Context, user int64) ([]shop.Notification, error) {
	page, err := Get[page](ctx, s.Client, "/v1/users/{id}/notifications", user, nil)
	return page.Notifications, err
}

func latestOrders() url.Values {
	return url.Values{"page_size": {strconv.Itoa(shopdata.OrdersPerRegular)}}
}

func (s Services) GetOrder(ctx context.Context, id int64) (shop.Order, error) {
	return Get[shop.Order](ctx, s.Client, "/v1/orders/{id}", id, nil)
}

func (s Services) BatchGetPayments(ctx context.Context, orders ...int64) ([]shop.Payment, error) {
	page, err := Get[page](ctx, s.Client, "/v1/payments", 0, url.Values{"order_ids": {numbers(orders)}})
	return page.Payments, err
}

func (s Services) Checkout(ctx context.Context, p shop.Purchase) (shop.Order, error) {
	return Send[shop.Order](ctx, s.Client, Write{
		Method: http.MethodPost, Route: "/v1/orders", Expected: http.StatusCreated,
		Header: map[string]string{"Idempotency-Key": p.IdempotencyKey},
		Body: struct {
			UserID       int64       `json:"user_id"`
			Lines        []shop.Item `json:"lines"`
			PaymentToken string      `json:"payment_token"`
		}{p.UserID, p.Items, shopdata.PaymentToken},
	})
}

func (s Services) ExportLines(ctx context.Context, after int64) ([]shop.ExportedLine, error) {
	page, err := Get[page](ctx, s.Client, "/v1/order-lines", 0, url.Values{
		"after_line_id": {number(after)}, "page_size": {strconv.Itoa(shopdata.BulkPage)},
	})
	return page.Lines, err
}
