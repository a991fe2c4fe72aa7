// Package thriftrpc is a client of the services' Thrift APIs, over framed TCP or over HTTP.
package thriftrpc

import (
	"context"

	"github.com/apache/thrift/lib/go/thrift"

	"hopwise/load/internal/exchange"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
	stub "hopwise/load/internal/stubs/shopthrift"
	"hopwise/load/internal/target"
)

type Services struct {
	to       func(service, token string) thrift.TClient
	products *stub.ProductServiceClient
	orders   *stub.OrderServiceClient
	users    *stub.UserServiceClient
	payments *stub.PaymentServiceClient
}

var _ shop.Services = Services{}

// NewServices returns access to the shop in the session of the token, over one of the two Thrift protocols.
func NewServices(x *exchange.Exchange, token string, protocol target.Protocol) Services {
	to := func(service, token string) thrift.TClient {
		if protocol == target.Thrift {
			return framed{client{x, service, token}}
		}
		return posted{client{x, service, token}}
	}
	return Services{
		to:       to,
		products: stub.NewProductServiceClient(to("product", token)),
		orders:   stub.NewOrderServiceClient(to("order", token)),
		users:    stub.NewUserServiceClient(to("user", token)),
		payments: stub.NewPaymentServiceClient(to("payment", token)),
	}
}

// newMetadata returns a request's metadata, which the client fills in.
func newMetadata() map[string]string { return map[string]string{} }

func (s Services) ListProducts(ctx context.Context, category string) ([]shop.Product, error) {
	page, err := s.products.ListProducts(ctx, newMetadata(), &stub.ListProductsRequest{
		PageSize: shopdata.BrowsePage, Category: category,
	})
	return shop.Mapped(there(page).Products, product), err
}

func (s Services) ListReviewedProducts(ctx context.Context, category string) ([]shop.Product, error) {
	page, err := s.products.ListProductsWithReviews(ctx, newMetadata(), &stub.ListProductsWithReviewsRequest{
		PageSize: shopdata.BrowsePage, Category: category, ReviewLimit: shopdata.ReviewsPerProduct,
	})
	return shop.Mapped(there(page).Products, reviewedProduct), err
}

func (s Services) AddReviews(ctx context.Context, listed shop.Product) (shop.Product, error) {
	batch, err := s.products.BatchListReviews(ctx, newMetadata(), &stub.BatchListReviewsRequest{ProductIds: []int64{listed.ID}})
	for _, p := range there(batch).Products {
		listed.Reviews = shop.Mapped(p.Reviews, review)
	}
	return listed, err
}

func (s Services) GetProduct(ctx context.Context, id int64) (shop.Product, error) {
	p, err := s.products.GetProduct(ctx, newMetadata(), &stub.GetProductRequest{ID: id})
	return product(p), err
}

func (s Services) BatchGetProducts(ctx context.Context, ids []int64) ([]shop.Product, error) {
	batch, err := s.products.BatchGetProducts(ctx, newMetadata(), &stub.BatchGetProductsRequest{Ids: shop.Distinct(ids)})
	return shop.Mapped(there(batch).Products, product), err
}

func (s Services) GetDocument(ctx context.Context, id int64) (shop.Document, error) {
	d, err := s.products.GetDocument(ctx, newMetadata(), &stub.GetDocumentRequest{ID: id})
	return shop.Document{ID: there(d).ID, Sections: shop.Mapped(there(d).Sections, section)}, err
}

func (s Services) Login(ctx context.Context, email, password string) (shop.Session, error) {
	opened, err := s.users.Login(ctx, newMetadata(), &stub.LoginRequest{Email: email, Password: password})
	return shop.Session{Token: there(opened).Token, User: user(there(opened).User)}, err
}

func (s Services) GetUser(ctx context.Context, id int64, token string) (shop.User, error) {
	u, err := stub.NewUserServiceClient(s.to("user", token)).GetUser(ctx, newMetadata(), &stub.GetUserRequest{ID: id})
	return user(u), err
}

func (s Services) UpdateAddress(ctx context.Context, id int64, address shop.Address) (shop.User, error) {
	u, err := s.users.UpdateUser(ctx, newMetadata(), &stub.UpdateUserRequest{
		User:       &stub.User{ID: id, Address: addressOf(address)},
		UpdateMask: []string{"address"},
	})
	return user(u), err
}

func (s Services) ListOrders(ctx context.Context, user int64) ([]shop.Order, error) {
	page, err := s.orders.ListOrdersByUser(ctx, newMetadata(), &stub.ListOrdersByUserRequest{
		UserID: user, PageSize: shopdata.OrdersPerRegular,
	})
	return shop.Mapped(there(page).Orders, order), err
}

func (s Services) GetOrder(ctx context.Context, id int64) (shop.Order, error) {
	o, err := s.orders.GetOrder(ctx, newMetadata(), &stub.GetOrderRequest{ID: id})
	return order(o), err
}

func (s Services) BatchGetPayments(ctx context.Context, orders ...int64) ([]shop.Payment, error) {
	batch, err := s.payments.BatchGetPaymentsByOrder(ctx, newMetadata(), &stub.BatchGetPaymentsByOrderRequest{OrderIds: orders})
	return shop.Mapped(there(batch).Payments, payment), err
}

func (s Services) Checkout(ctx context.Context, p shop.Purchase) (shop.Order, error) {
	o, err := s.orders.Checkout(ctx, newMetadata(), &stub.CheckoutRequest{
		UserID: p.UserID, PaymentToken: shopdata.PaymentToken, IdempotencyKey: p.IdempotencyKey,
		Lines: shop.Mapped(p.Items, func(i shop.Item) *stub.CheckoutLine {
			return &stub.CheckoutLine{ProductID: i.ProductID, Quantity: int32(i.Quantity)}
		}),
	})
	return order(o), err
}

func (s Services) ExportLines(ctx context.Context, after int64) ([]shop.ExportedLine, error) {
	page, err := s.orders.StreamOrderLines(ctx, newMetadata(), &stub.StreamOrderLinesRequest{
		AfterLineID: after, Limit: shopdata.BulkPage,
	})
	return shop.Mapped(there(page).Lines, exportedLine), err
}

// ListNotifications is not supported: there are none over Thrift, and workloads that read them are refused.
func (s Services) ListNotifications(context.Context, int64) ([]shop.Notification, error) {
	return nil, outcome.Failed(outcome.Client, "no service returns notifications over Thrift")
}
