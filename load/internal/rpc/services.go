// Package rpc is a client of the services' gRPC APIs.
package rpc

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"hopwise/load/internal/need"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
	"hopwise/proto/stubs/notificationv1"
	"hopwise/proto/stubs/orderv1"
	"hopwise/proto/stubs/paymentv1"
	"hopwise/proto/stubs/productv1"
	"hopwise/proto/stubs/userv1"
)

type Services struct {
	open          Opener
	products      productv1.ProductServiceClient
	orders        orderv1.OrderServiceClient
	users         userv1.UserServiceClient
	payments      paymentv1.PaymentServiceClient
	notifications notificationv1.NotificationServiceClient
	streams       bool                   // whether a document comes in chunks
	mask          *fieldmaskpb.FieldMask // selected fields of products and orders; nil for all
}

var _ shop.Services = Services{}

// Opener returns a connection that sends calls in the session of a token.
type Opener func(token string) grpc.ClientConnInterface

// NewServices returns access to the shop in the session of the token. Reads select the fields, by their names in REST,
// or all fields if none are given. With streams, a document comes in chunks, not as one message.
func NewServices(open Opener, token string, streams bool, fields ...string) Services {
	channel := open(token)
	var mask *fieldmaskpb.FieldMask
	if len(fields) > 0 {
		mask = &fieldmaskpb.FieldMask{Paths: need.InContract(fields)}
	}
	return Services{
		open:          open,
		products:      productv1.NewProductServiceClient(channel),
		orders:        orderv1.NewOrderServiceClient(channel),
		users:         userv1.NewUserServiceClient(channel),
		payments:      paymentv1.NewPaymentServiceClient(channel),
		notifications: notificationv1.NewNotificationServiceClient(channel),
		streams:       streams,
		mask:          mask,
	}
}

func (s Services) ListProducts(ctx context.Context, category string) ([]shop.Product, error) {
	page, err := s.products.ListProducts(ctx, &productv1.ListProductsRequest{
		PageSize: shopdata.BrowsePage, Category: category, ReadMask: s.mask,
	})
	return shop.Mapped(page.GetProducts(), product), err
}

func (s Services) ListReviewedProducts(ctx context.Context, category string) ([]shop.Product, error) {
	page, err := s.products.ListProductsWithReviews(ctx, &productv1.ListProductsWithReviewsRequest{
		PageSize: shopdata.BrowsePage, Category: category, ReviewLimit: shopdata.ReviewsPerProduct,
	})
	return shop.Mapped(page.GetProducts(), reviewedProduct), err
}

func (s Services) AddReviews(ctx context.Context, listed shop.Product) (shop.Product, error) {
	batch, err := s.products.BatchListReviews(ctx, &productv1.BatchListReviewsRequest{ProductIds: []int64{listed.ID}})
	for _, p := range batch.GetProducts() {
		listed.Reviews = shop.Mapped(p.Reviews, review)
	}
	return listed, err
}

func (s Services) GetProduct(ctx context.Context, id int64) (shop.Product, error) {
	p, err := s.products.GetProduct(ctx, &productv1.GetProductRequest{Id: id, ReadMask: s.mask})
	return product(p), err
}

func (s Services) BatchGetProducts(ctx context.Context, ids []int64) ([]shop.Product, error) {
	batch, err := s.products.BatchGetProducts(ctx, &productv1.BatchGetProductsRequest{Ids: shop.Distinct(ids)})
	return shop.Mapped(batch.GetProducts(), product), err
}

func (s Services) GetDocument(ctx context.Context, id int64) (shop.Document, error) {
	if !s.streams {
		d, err := s.products.GetDocument(ctx, &productv1.GetDocumentRequest{Id: id})
		return shop.Document{ID: d.GetId(), Sections: shop.Mapped(d.GetSections(), section)}, err
	}
	stream, err := s.products.StreamDocument(ctx, &productv1.StreamDocumentRequest{Id: id})
	if err != nil {
		return shop.Document{}, err
	}
	sections, err := all(stream, (*productv1.StreamDocumentResponse).GetSections, section)
	return shop.Document{ID: id, Sections: sections}, err
}

func (s Services) Login(ctx context.Context, email, password string) (shop.Session, error) {
	opened, err := s.users.Login(ctx, &userv1.LoginRequest{Email: email, Password: password})
	return shop.Session{Token: opened.GetToken(), User: user(opened.GetUser())}, err
}

func (s Services) GetUser(ctx context.Context, id int64, token string) (shop.User, error) {
	u, err := userv1.NewUserServiceClient(s.open(token)).GetUser(ctx, &userv1.GetUserRequest{Id: id})
	return user(u), err
}

func (s Services) UpdateAddress(ctx context.Context, id int64, address shop.Address) (shop.User, error) {
	u, err := s.users.UpdateUser(ctx, &userv1.UpdateUserRequest{
		User:       &userv1.User{Id: id, Address: addressOf(address)},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"address"}},
	})
	return user(u), err
}

func (s Services) ListOrders(ctx context.Context, user int64) ([]shop.Order, error) {
	page, err := s.orders.ListOrdersByUser(ctx, &orderv1.ListOrdersByUserRequest{
		UserId: user, PageSize: shopdata.OrdersPerRegular, ReadMask: s.mask,
	})
	return shop.Mapped(page.GetOrders(), order), err
}

func (s Services) ListNotifications(ctx context.Context, user int64) ([]shop.Notification, error) {
	list, err := s.notifications.ListNotifications(ctx, &notificationv1.ListNotificationsRequest{UserId: user})
	return shop.Mapped(list.GetNotifications(), notification), err
}

func (s Services) GetOrder(ctx context.Context, id int64) (shop.Order, error) {
	o, err := s.orders.GetOrder(ctx, &orderv1.GetOrderRequest{Id: id})
	return order(o), err
}

func (s Services) BatchGetPayments(ctx context.Context, orders ...int64) ([]shop.Payment, error) {
	batch, err := s.payments.BatchGetPaymentsByOrder(ctx,
		&paymentv1.BatchGetPaymentsByOrderRequest{OrderIds: orders})
	return shop.Mapped(batch.GetPayments(), payment), err
}

func (s Services) Checkout(ctx context.Context, p shop.Purchase) (shop.Order, error) {
	o, err := s.orders.Checkout(ctx, &orderv1.CheckoutRequest{
		UserId: p.UserID, PaymentToken: shopdata.PaymentToken, IdempotencyKey: p.IdempotencyKey,
		Lines: shop.Mapped(p.Items, func(i shop.Item) *orderv1.CheckoutLine {
			return &orderv1.CheckoutLine{ProductId: i.ProductID, Quantity: int32(i.Quantity)}
		}),
	})
	return order(o), err
}

func (s Services) ExportLines(ctx context.Context, after int64) ([]shop.ExportedLine, error) {
	stream, err := s.orders.StreamOrderLines(ctx, &orderv1.StreamOrderLinesRequest{
		AfterLineId: after, Limit: shopdata.BulkPage,
	})
	if err != nil {
		return nil, err
	}
	return all(stream, (*orderv1.StreamOrderLinesResponse).GetLines, exportedLine)
}

func all[Chunk, From, To any](stream grpc.ServerStreamingClient[Chunk], has func(*Chunk) []From, canonical func(From) To) ([]To, error) {
	var read []To
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return read, nil
		}
		if err != nil {
			return nil, err
		}
		read = append(read, shop.Mapped(has(chunk), canonical)...)
	}
}
