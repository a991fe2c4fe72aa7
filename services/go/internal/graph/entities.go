package graph

import (
	"context"
	"slices"
	"strings"

	"hopwise/proto/stubs/orderv1"
	"hopwise/proto/stubs/paymentv1"
	"hopwise/proto/stubs/productv1"
	"hopwise/proto/stubs/typev1"
	"hopwise/proto/stubs/userv1"
	"hopwise/services/internal/lists"
	"hopwise/services/internal/shoperr"
)

const (
	maxReviews  = 20
	orderStatus = "ORDER_STATUS_" // prefix of the contract's names of statuses; clients see the names without it
)

// The fields of an entity that need no further call; `reviews`, `orders` and `payment` each make a call.
var (
	knownOfProduct = []string{"__typename", "id", "reviews"}
	knownOfUser    = []string{"__typename", "id", "orders"}
	knownOfOrder   = []string{"__typename", "id", "payment"}
	knownByLine    = append(slices.Clone(knownOfOrder), "status", "placedAt", "user")
)

// Node is an entity with a global identifier.
type Node interface{ IsNode() }

// Product is an article that the shop sells.
type Product struct {
	*productv1.Product
	// firstReviews are the first reviews, up to reviewsRead, if they were read with the product.
	firstReviews []*productv1.Review
	reviewsRead  int32
}

// Review is one customer's opinion of one product.
type Review struct{ *productv1.Review }

// User is a customer; only the name is public.
type User struct {
	*userv1.User
	// Own tells whether the request is authenticated as this user's by means other than a token.
	Own bool
}

// Order is one purchase of a customer.
type Order struct {
	*orderv1.Order
	Lines   []*OrderLine
	request *Request
	whole   bool // whether it has more fields than the bulk read returns
}

// OrderLine is one product of an order.
type OrderLine struct {
	*orderv1.OrderLine // has no line number if it comes from the bulk read
	order              *Order
}

// Payment is the payment of one order.
type Payment struct{ *paymentv1.Payment }

// NewProduct returns a product of the service.
func NewProduct(p *productv1.Product) *Product { return &Product{Product: p} }

// NewReviewedProduct returns a product of the service that was read with at most this number of reviews.
func NewReviewedProduct(p *productv1.ReviewedProduct, reviews int32) *Product {
	plain := &productv1.Product{
		Id: p.Id, Title: p.Title, Description: p.Description, Category: p.Category, Price: p.Price, Stock: p.Stock,
	}
	return &Product{Product: plain, firstReviews: p.Reviews, reviewsRead: reviews}
}

// NewUser returns a user of the service.
func NewUser(u *userv1.User) *User { return &User{User: u} }

// NewPayment returns a payment of the service.
func NewPayment(p *paymentv1.Payment) *Payment { return &Payment{p} }

// NewOrder returns an order of the service.
func (r *Request) NewOrder(o *orderv1.Order) *Order {
	made := &Order{Order: o, request: r, whole: true, Lines: make([]*OrderLine, len(o.Lines))}
	for place, line := range o.Lines {
		made.Lines[place] = &OrderLine{line, made}
	}
	return made
}

// NewLine returns a line of the bulk read.
func (r *Request) NewLine(l *orderv1.JoinedOrderLine) *OrderLine {
	known := &orderv1.Order{Id: l.OrderId, UserId: l.UserId, Status: l.Status, CreateTime: l.CreateTime}
	line := &orderv1.OrderLine{Id: l.Id, ProductId: l.ProductId, Quantity: l.Quantity, UnitPrice: l.UnitPrice}
	return &OrderLine{line, &Order{Order: known, request: r}}
}

func newReview(r *productv1.Review) *Review { return &Review{r} }

func (*Product) IsNode() {}
func (*User) IsNode()    {}
func (*Order) IsNode()   {}
func (*Payment) IsNode() {}

func (p *Product) ID() string   { return GlobalID("Product", p.Id) }
func (r *Review) ID() string    { return GlobalID("Review", r.Id) }
func (u *User) ID() string      { return GlobalID("User", u.Id) }
func (o *Order) ID() string     { return GlobalID("Order", o.Id) }
func (l *OrderLine) ID() string { return GlobalID("OrderLine", l.Id) }
func (p *Payment) ID() string   { return GlobalID("Payment", p.Id) }

func (o *Order) Status() string { return strings.TrimPrefix(o.Order.Status.String(), orderStatus) }
func (p *Payment) Status() string {
	return strings.TrimPrefix(p.Payment.Status.String(), "PAYMENT_STATUS_")
}

// StatusNumber returns the status that clients know by this name.
func StatusNumber(name string) orderv1.OrderStatus {
	return orderv1.OrderStatus(orderv1.OrderStatus_value[orderStatus+name])
}

// Reviews returns the first reviews of the product.
func (p *Product) Reviews(ctx context.Context, first int32) ([]*Review, error) {
	if err := CheckFirst(first, maxReviews); err != nil {
		return nil, err
	}
	if first <= p.reviewsRead {
		return lists.Map(p.firstReviews[:min(len(p.firstReviews), int(first))], newReview), nil
	}
	r := Of(ctx)
	if Asks(ctx, "author") {
		r.authors.Store(true)
	}
	return r.Reviews.Load(ReviewsKey{p.Id, first})
}

// Author returns the author of the review; nil if the account is deleted.
func (r *Review) Author(ctx context.Context) (*User, error) { return Of(ctx).Users.Load(r.UserId) }

// CheckOwner admits this user and partners.
func (u *User) CheckOwner(ctx context.Context) error {
	if u.Own {
		return nil
	}
	return Of(ctx).AdmitFor(userv1.UserService_GetUser_FullMethodName, u.Id, "")
}

// Email returns the e-mail address, to this user and partners only.
func (u *User) Email(ctx context.Context) (string, error) { return u.User.Email, u.CheckOwner(ctx) }

// Address returns the postal address, to this user and partners only.
func (u *User) Address(ctx context.Context) (*typev1.Address, error) {
	return u.User.Address, u.CheckOwner(ctx)
}

// User returns the buyer; nil if the account is deleted.
func (o *Order) User(ctx context.Context) (*User, error) {
	if o.UserId == 0 {
		return nil, nil
	}
	return o.request.userKnown(ctx, o.UserId)
}

// userKnown returns a user, without a call if the query selects only known fields.
func (r *Request) userKnown(ctx context.Context, id int64) (*User, error) {
	if selectAt(ctx).only(knownOfUser) {
		return NewUser(&userv1.User{Id: id}), nil
	}
	return r.Users.Load(id)
}

// Me returns the calling customer, without a call if the query selects only known fields.
func (r *Request) Me(ctx context.Context) (*User, error) {
	id, err := r.CustomerID()
	if err != nil {
		return nil, err
	}
	u, err := r.userKnown(ctx, id)
	return shoperr.Existing(u, err, "user", id)
}

// Payment returns the payment of the order; nil before it is paid.
func (o *Order) Payment() (*Payment, error) { return o.request.Payments.Load(o.Id) }

// LineNumber returns the place in the order, from 1.
func (l *OrderLine) LineNumber() (int32, error) {
	if l.OrderLine.LineNumber > 0 {
		return l.OrderLine.LineNumber, nil
	}
	order, err := l.order.request.Orders.Load(l.order.Id)
	if order, err = shoperr.Existing(order, err, "order", l.order.Id); err != nil {
		return 0, err
	}
	for _, other := range order.Lines {
		if other.Id == l.Id {
			return other.OrderLine.LineNumber, nil
		}
	}
	return 0, shoperr.Hidden()
}

// Product returns the bought product; nil if it has been removed since.
func (l *OrderLine) Product(ctx context.Context) (*Product, error) {
	if selectAt(ctx).only(knownOfProduct) {
		return NewProduct(&productv1.Product{Id: l.ProductId}), nil
	}
	return Of(ctx).Products.Load(l.ProductId)
}

// Order returns the order that the line belongs to.
func (l *OrderLine) Order(ctx context.Context) (*Order, error) {
	if l.order.whole {
		ExpectOrders(ctx, []*Order{l.order})
		return l.order, nil
	}
	if selectAt(ctx).only(knownByLine) {
		return l.order, nil
	}
	return l.order.request.prepared(ctx, l.order.Id)
}

// Order returns the order that the payment pays; nil until the money is captured.
func (p *Payment) Order(ctx context.Context) (*Order, error) {
	if p.OrderId == 0 {
		return nil, nil
	}
	r := Of(ctx)
	if selectAt(ctx).only(knownOfOrder) {
		return &Order{Order: &orderv1.Order{Id: p.OrderId}, request: r}, nil
	}
	return r.prepared(ctx, p.OrderId)
}

func (r *Request) prepared(ctx context.Context, id int64) (*Order, error) {
	order, err := r.Orders.Load(id)
	if order != nil {
		ExpectOrders(ctx, []*Order{order})
	}
	return order, err
}

// OwnOrder returns the order with this id, for its owner and for partners.
func (r *Request) OwnOrder(ctx context.Context, id int64) (*Order, error) {
	const call = orderv1.OrderService_GetOrder_FullMethodName
	if err := r.Admit(call); err != nil {
		return nil, err
	}
	order, err := r.Orders.Load(id)
	if order, err = shoperr.Existing(order, err, "order", id); err == nil {
		err = r.Show(call, order.UserId, shoperr.NoSuch("order", id))
	}
	if err != nil {
		return nil, err
	}
	ExpectOrders(ctx, []*Order{order})
	return order, nil
}

// OwnPayment returns the payment with this id, for its owner and for partners.
func (r *Request) OwnPayment(ctx context.Context, id int64) (*Payment, error) {
	const call = paymentv1.PaymentService_GetPayment_FullMethodName
	if err := r.Admit(call); err != nil {
		return nil, err
	}
	payment, err := r.Services.Payment.GetPayment(ctx, &paymentv1.GetPaymentRequest{Id: id})
	if err == nil {
		err = r.Show(call, payment.UserId, shoperr.NoSuch("payment", id))
	}
	if err != nil {
		return nil, err
	}
	return NewPayment(payment), nil
}

// CheckFirst checks the size of a page.
func CheckFirst(first, most int32) error {
	if first < 1 || first > most {
		return shoperr.Invalid("first", "first is %d; 1 to %d are valid", first, most)
	}
	return nil
}
