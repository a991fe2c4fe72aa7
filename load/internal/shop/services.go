package shop

import (
	"context"
	"slices"
)

// Services gives access to the shop, in one session, to a client that composes its answers itself.
//
// Missing fields of an answer stay empty and are not errors here: the check of the journey's answer names them.
type Services interface {
	// ListProducts returns the first page of a category, without reviews.
	ListProducts(ctx context.Context, category string) ([]Product, error)
	// ListReviewedProducts returns the first page of a category with reviews, in as few requests as the protocol allows.
	ListReviewedProducts(ctx context.Context, category string) ([]Product, error)
	// AddReviews returns a listed product with its reviews, with one request.
	AddReviews(ctx context.Context, listed Product) (Product, error)
	GetProduct(ctx context.Context, id int64) (Product, error)
	// BatchGetProducts returns each of the products once, without reviews, with one request.
	BatchGetProducts(ctx context.Context, ids []int64) ([]Product, error)
	GetDocument(ctx context.Context, id int64) (Document, error)
	Login(ctx context.Context, email, password string) (Session, error)
	// GetUser returns the user's profile to the holder of the token.
	GetUser(ctx context.Context, id int64, token string) (User, error)
	UpdateAddress(ctx context.Context, id int64, address Address) (User, error)
	// ListOrders returns the latest orders of the user, newest first.
	ListOrders(ctx context.Context, user int64) ([]Order, error)
	GetOrder(ctx context.Context, id int64) (Order, error)
	// BatchGetPayments returns the payments of the orders, with one request.
	BatchGetPayments(ctx context.Context, orders ...int64) ([]Payment, error)
	Checkout(ctx context.Context, p Purchase) (Order, error)
	// ListNotifications returns the user's notifications about their orders, newest first.
	ListNotifications(ctx context.Context, user int64) ([]Notification, error)
	// ExportLines returns the page of all users' order lines that follows the line with this id.
	ExportLines(ctx context.Context, after int64) ([]ExportedLine, error)
}

type Joining interface {
	Services
	// ListJoinedOrders returns the latest orders of the user, newest first, with their products and payments.
	ListJoinedOrders(ctx context.Context, user int64) ([]Order, error)
}

// Distinct returns the identifiers in ascending order, each once.
func Distinct(ids []int64) []int64 { return slices.Compact(slices.Sorted(slices.Values(ids))) }
