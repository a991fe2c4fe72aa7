// Package graph has the entities of the graph, which wrap the services' messages, and reads them for a request.
package graph

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"hopwise/proto/stubs/orderv1"
	"hopwise/proto/stubs/paymentv1"
	"hopwise/proto/stubs/productv1"
	"hopwise/proto/stubs/userv1"
	"hopwise/services/internal/access"
	"hopwise/services/internal/peer"
)

// rules has the contract's rules for the calls that the gateway makes.
var rules = access.RulesOf(
	productv1.File_shop_product_v1_product_proto, orderv1.File_shop_order_v1_order_proto,
	userv1.File_shop_user_v1_user_proto, paymentv1.File_shop_payment_v1_payment_proto)

type requestKey struct{}

// Request is shared by the resolvers of one request: the services, the values read from them, and the caller.
type Request struct {
	*peer.Services
	// Caller returns the caller. It checks the token at its first call, so that public reads cost nothing.
	Caller   func() (access.Caller, error)
	Products loader[int64, *Product]
	Reviewed loader[ReviewsKey, *Product]
	Users    loader[int64, *User]
	Orders   loader[int64, *Order]
	Payments loader[int64, *Payment] // by the ids of their orders
	Reviews  loader[ReviewsKey, []*Review]
	authors  atomic.Bool // whether the query asks for the authors of reviews
}

// ReviewsKey is the key of a product's first reviews.
type ReviewsKey struct {
	Product int64
	First   int32
}

// WithRequest returns the context of a request; the request's reads are cancelled when the given context ends.
func WithRequest(ctx context.Context, services *peer.Services, authenticate func() (access.Caller, error)) context.Context {
	r := &Request{Services: services, Caller: sync.OnceValues(authenticate)}
	ctx = context.WithValue(ctx, requestKey{}, r)
	r.Products = loader[int64, *Product]{ctx: ctx, fetch: r.products}
	r.Reviewed = loader[ReviewsKey, *Product]{ctx: ctx, fetch: r.readReviewed}
	r.Users = loader[int64, *User]{ctx: ctx, fetch: r.users}
	r.Orders = loader[int64, *Order]{ctx: ctx, fetch: r.orders}
	r.Payments = loader[int64, *Payment]{ctx: ctx, fetch: r.payments}
	r.Reviews = loader[ReviewsKey, []*Review]{ctx: ctx, fetch: r.reviews}
	return ctx
}

// Admit admits the caller to the call with this full name if the call's rule allows it; public calls need no token.
func (r *Request) Admit(call string) error { return access.Admit(rules[call].GetAccess(), r.Caller) }

// AdmitFor admits the caller to a call that concerns a user. field is the argument that names the user; it is empty if
// the call has no other argument.
func (r *Request) AdmitFor(call string, user int64, field string) error {
	if err := r.Admit(call); err != nil || rules[call].GetOwner() == "" {
		return err
	}
	caller, err := r.Caller()
	if err == nil {
		err = caller.RequireOwner(user, field)
	}
	return err
}

// Show checks that the caller may see the result of a call, which belongs to a user; missing is the error for an
// unknown id.
func (r *Request) Show(call string, user int64, missing error) error {
	if rules[call].GetOwner() == "" {
		return nil
	}
	caller, err := r.Caller()
	if err == nil && !caller.MayActFor(user) {
		err = missing
	}
	return err
}

// CustomerID returns the id of the calling customer, or an error if the caller is not a customer.
func (r *Request) CustomerID() (int64, error) {
	caller, err := r.Caller()
	if err != nil {
		return 0, err
	}
	return caller.CustomerID()
}

// Of returns the Request in a resolver's context.
func Of(ctx context.Context) *Request { return ctx.Value(requestKey{}).(*Request) }

func (r *Request) products(ctx context.Context, ids []int64) (map[int64]*Product, error) {
	answer, err := r.Product.BatchGetProducts(ctx, &productv1.BatchGetProductsRequest{Ids: ids})
	return keyed(answer.GetProducts(), (*productv1.Product).GetId, NewProduct), err
}

// readReviewed makes one call for the longest list of reviews in the query; shorter lists are prefixes of that list.
func (r *Request) readReviewed(ctx context.Context, keys []ReviewsKey) (map[ReviewsKey]*Product, error) {
	ids, longest := productsOf(keys)
	answer, err := r.Product.BatchGetProductsWithReviews(
		ctx, &productv1.BatchGetProductsWithReviewsRequest{Ids: ids, ReviewLimit: longest})
	made := func(p *productv1.ReviewedProduct) *Product { return NewReviewedProduct(p, longest) }
	of := keyed(answer.GetProducts(), (*productv1.ReviewedProduct).GetId, made)
	r.ExpectAuthors(slices.Collect(maps.Values(of))...)
	values := make(map[ReviewsKey]*Product, len(keys))
	for _, key := range keys {
		values[key] = of[key.Product]
	}
	return values, err
}

// productsOf returns the products of these keys, each once, and the length of the longest list of reviews.
func productsOf(keys []ReviewsKey) (products []int64, longest int32) {
	seen := make(map[int64]bool, len(keys))
	for _, key := range keys {
		longest = max(longest, key.First)
		if !seen[key.Product] {
			seen[key.Product] = true
			products = append(products, key.Product)
		}
	}
	return products, longest
}

func (r *Request) users(ctx context.Context, ids []int64) (map[int64]*User, error) {
	answer, err := r.User.BatchGetUsers(ctx, &userv1.BatchGetUsersRequest{Ids: ids})
	return keyed(answer.GetUsers(), (*userv1.User).GetId, NewUser), err
}

func (r *Request) orders(ctx context.Context, ids []int64) (map[int64]*Order, error) {
	answer, err := r.Order.BatchGetOrders(ctx, &orderv1.BatchGetOrdersRequest{Ids: ids})
	return keyed(answer.GetOrders(), (*orderv1.Order).GetId, r.NewOrder), err
}

func (r *Request) payments(ctx context.Context, orders []int64) (map[int64]*Payment, error) {
	answer, err := r.Payment.BatchGetPaymentsByOrder(ctx, &paymentv1.BatchGetPaymentsByOrderRequest{OrderIds: orders})
	return keyed(answer.GetPayments(), (*paymentv1.Payment).GetOrderId, NewPayment), err
}

// reviews makes one call for the longest list in the query; shorter lists are prefixes of that list.
func (r *Request) reviews(ctx context.Context, keys []ReviewsKey) (map[ReviewsKey][]*Review, error) {
	products, longest := productsOf(keys)
	answer, err := r.Product.BatchListReviews(ctx, &productv1.BatchListReviewsRequest{ProductIds: products, Limit: longest})
	of, authors := make(map[int64][]*Review, len(products)), make([]int64, 0, len(products))
	for _, entry := range answer.GetProducts() {
		for _, review := range entry.Reviews {
			of[entry.ProductId], authors = append(of[entry.ProductId], &Review{review}), append(authors, review.UserId)
		}
	}
	if r.authors.Load() {
		r.Users.Expect(authors...)
	}
	values := make(map[ReviewsKey][]*Review, len(keys))
	for _, key := range keys {
		values[key] = of[key.Product][:min(len(of[key.Product]), int(key.First))]
	}
	return values, err
}

func keyed[M, V any](messages []M, key func(M) int64, made func(M) V) map[int64]V {
	values := make(map[int64]V, len(messages))
	for _, message := range messages {
		values[key(message)] = made(message)
	}
	return values
}
