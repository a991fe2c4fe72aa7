package graphql

import (
	"context"

	"hopwise/load/internal/exchange"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
)

// Services reaches the shop through its services' own GraphQL APIs.
//
// Documents select only the fields that the journeys show. Aliases give the fields the same names as in REST, so that
// answers decode without conversion, and bodies spell the names in the same way.
type Services struct{ Client }

var _ shop.Services = Services{}

func NewServices(x *exchange.Exchange, token string, sends Sends) Services {
	return Services{NewClient(x, token, sends)}
}

type page struct {
	Products []shop.Product `json:"products"`
	Items    []shop.Order   `json:"items"`
}

func call[T any](ctx context.Context, s Services, document string, variables Variables) (T, error) {
	data, err := Ask[struct {
		Answer T `json:"answer"`
	}](ctx, s.Client, document, variables)
	return data.Answer, err
}

func (s Services) ListProducts(ctx context.Context, category string) ([]shop.Product, error) {
	page, err := call[page](ctx, s, "product/list_products", Variables{
		"category": category, "pageSize": shopdata.BrowsePage,
	})
	return page.Products, err
}

func (s Services) ListReviewedProducts(ctx context.Context, category string) ([]shop.Product, error) {
	page, err := call[page](ctx, s, "product/list_reviewed_products", Variables{
		"category": category, "pageSize": shopdata.BrowsePage, "reviewLimit": shopdata.ReviewsPerProduct,
	})
	return page.Products, err
}

func (s Services) AddReviews(ctx context.Context, listed shop.Product) (shop.Product, error) {
	reviewed, err := call[[]struct {
		Reviews []shop.Review `json:"reviews"`
	}](ctx, s, "product/list_reviews", Variables{"id": listed.ID, "limit": shopdata.ReviewsPerProduct})
	if len(reviewed) > 0 {
		listed.Reviews = reviewed[0].Reviews
	}
	return listed, err
}

func (s Services) GetProduct(ctx context.Context, id int64) (shop.Product, error) {
	return call[shop.Product](ctx, s, "product/get_product", Variables{"id": id})
}

// BatchGetProducts returns the products' titles, the only field that journeys show.
func (s Services) BatchGetProducts(ctx context.Context, ids []int64) ([]shop.Product, error) {
	return call[[]shop.Product](ctx, s, "product/batch_get_products", Variables{"ids": shop.Distinct(ids)})
}

func (s Services) GetDocument(ctx context.Context, id int64) (shop.Document, error) {
	return call[shop.Document](ctx, s, "product/get_document", Variables{"id": id})
}

func (s Services) Login(ctx context.Context, email, password string) (shop.Session, error) {
	return call[shop.Session](ctx, s, "user/login", Variables{"email": email, "password": password})
}

func (s Services) GetUser(ctx context.Context, id int64, token string) (shop.User, error) {
	return call[shop.User](ctx, Services{s.In(token)}, "user/get_user", Variables{"id": id})
}

func (s Services) UpdateAddress(ctx context.Context, id int64, address shop.Address) (shop.User, error) {
	return call[shop.User](ctx, s, "user/update_address", Variables{"id": id, "address": Address(address)})
}

func (s Services) ListOrders(ctx context.Context, user int64) ([]shop.Order, error) {
	page, err := call[page](ctx, s, "order/list_orders", Variables{
		"userId": user, "pageSize": shopdata.OrdersPerRegular,
	})
	return page.Items, err
}

// GetOrder returns the order's status and total, the only fields that journeys show.
func (s Services) GetOrder(ctx context.Context, id int64) (shop.Order, error) {
	return call[shop.Order](ctx, s, "order/get_order", Variables{"id": id})
}

func (s Services) BatchGetPayments(ctx context.Context, orders ...int64) ([]shop.Payment, error) {
	return call[[]shop.Payment](ctx, s, "payment/batch_get_payments", Variables{"orderIds": orders})
}

func (s Services) Checkout(ctx context.Context, p shop.Purchase) (shop.Order, error) {
	lines := make([]Variables, len(p.Items))
	for i, item := range p.Items {
		lines[i] = Variables{"productId": item.ProductID, "quantity": item.Quantity}
	}
	return call[shop.Order](ctx, s, "order/checkout", Variables{
		"userId": p.UserID, "lines": lines, "paymentToken": shopdata.PaymentToken, "idempotencyKey": p.IdempotencyKey,
	})
}

func (s Services) ExportLines(ctx context.Context, after int64) ([]shop.ExportedLine, error) {
	return call[[]shop.ExportedLine](ctx, s, "order/export_lines", Variables{
		"afterLineId": after, "limit": shopdata.BulkPage,
	})
}

// ListNotifications is not supported: no topology has notifications behind GraphQL, and their tapes are refused.
func (s Services) ListNotifications(context.Context, int64) ([]shop.Notification, error) {
	return nil, outcome.Failed(outcome.Client, "no service returns notifications over its own GraphQL API")
}
