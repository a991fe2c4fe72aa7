package rpc

import (
	"context"
	"errors"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"hopwise/load/internal/answer"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shopdata"
	"hopwise/load/internal/stubs/orderv1"
	"hopwise/load/internal/stubs/paymentv1"
	"hopwise/load/internal/stubs/productv1"
	"hopwise/load/internal/stubs/userv1"
)

// browse lists the products, then gets the reviews of all of them in one batch.
func browse(ctx context.Context, c call) (answer.Answer, error) {
	page, err := c.listProducts(ctx)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(page.Products))
	for i, p := range page.Products {
		ids[i] = p.Id
	}
	if len(ids) == 0 {
		return nil, outcome.Wrong("the page has no products")
	}
	found, err := c.product.BatchListReviews(ctx, &productv1.BatchListReviewsRequest{ProductIds: ids, Limit: shopdata.ReviewsPerProduct})
	if err != nil {
		return nil, err
	}
	reviews := make(map[int64][]*productv1.Review, len(ids))
	for _, p := range found.Products {
		reviews[p.ProductId] = p.Reviews
	}
	return browsed(page.Products, reviews), nil
}

func (c call) listProducts(ctx context.Context) (*productv1.ListProductsResponse, error) {
	return c.product.ListProducts(ctx, &productv1.ListProductsRequest{PageSize: shopdata.BrowsePage, Category: c.e.Params.Category})
}

func productDetail(ctx context.Context, c call) (answer.Answer, error) {
	p, err := c.product.GetProduct(ctx, &productv1.GetProductRequest{Id: c.e.Params.ProductID})
	if err != nil {
		return nil, err
	}
	return &answer.Product{
		Category: p.Category, Description: p.Description, ID: p.Id, Price: money(p.Price), Stock: p.Stock, Title: p.Title,
	}, nil
}

// login logs in and fetches the profile with the token that it got.
func login(ctx context.Context, c call) (answer.Answer, error) {
	opened, err := c.user.Login(ctx, &userv1.LoginRequest{Email: shopdata.Email(c.e.Params.UserID), Password: shopdata.Password})
	if err != nil {
		return nil, err
	}
	if opened.Token == "" || opened.GetUser().GetId() == 0 {
		return nil, outcome.Wrong("the answer to the login has no token or no user")
	}
	u, err := connect(c.x.Channel(opened.Token)).user.GetUser(ctx, &userv1.GetUserRequest{Id: opened.User.Id})
	if err != nil {
		return nil, err
	}
	return &answer.Login{Email: u.Email, ID: u.Id, Name: u.Name}, nil
}

// orderHistory gets the orders, then the products of all their lines and all their payments side by side.
func orderHistory(ctx context.Context, c call) (answer.Answer, error) {
	orders, err := c.listOrders(ctx)
	if err != nil {
		return nil, err
	}
	var products, ids []int64
	for _, o := range orders {
		ids = append(ids, o.Id)
		for _, l := range o.Lines {
			products = append(products, l.ProductId)
		}
	}
	slices.Sort(products)
	products = slices.Compact(products)

	titles := make(map[int64]string, len(products))
	paid := make(map[int64]string, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		found, err := c.product.BatchGetProducts(ctx, &productv1.BatchGetProductsRequest{Ids: products})
		for _, p := range found.GetProducts() {
			titles[p.Id] = p.Title
		}
		return err
	})
	group.Go(func() error {
		found, err := c.payments(ctx, ids...)
		for _, p := range found {
			paid[p.OrderId] = paymentStatus(p.Status)
		}
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return history(orders, titles, paid), nil
}

// listOrders returns the user's orders; they are known to be the user's and to have lines.
func (c call) listOrders(ctx context.Context) ([]*orderv1.Order, error) {
	page, err := c.order.ListOrdersByUser(ctx, &orderv1.ListOrdersByUserRequest{
		UserId: c.e.Params.UserID, PageSize: shopdata.OrdersPerRegular,
	})
	if err != nil {
		return nil, err
	}
	lines := 0
	for _, o := range page.Orders {
		if o.UserId != c.e.Params.UserID {
			return nil, outcome.Wrong("order %d is of user %d instead of %d", o.Id, o.UserId, c.e.Params.UserID)
		}
		lines += len(o.Lines)
	}
	if lines == 0 {
		return nil, outcome.Wrong("the history has no order with lines")
	}
	return page.Orders, nil
}

func (c call) payments(ctx context.Context, orders ...int64) ([]*paymentv1.Payment, error) {
	found, err := c.payment.BatchGetPaymentsByOrder(ctx, &paymentv1.BatchGetPaymentsByOrderRequest{OrderIds: orders})
	return found.GetPayments(), err
}

func checkout(ctx context.Context, c call) (answer.Answer, error) {
	request := &orderv1.CheckoutRequest{
		UserId: c.e.Params.UserID, PaymentToken: shopdata.PaymentToken, IdempotencyKey: c.e.Params.IdempotencyKey,
	}
	for _, l := range c.e.Params.Lines {
		request.Lines = append(request.Lines, &orderv1.CheckoutLine{ProductId: l.ProductID, Quantity: int32(l.Quantity)})
	}
	o, err := c.order.Checkout(ctx, request)
	if err != nil {
		return nil, err
	}
	a := &answer.Checkout{OrderID: o.Id, Status: orderStatusName(o.Status), Total: money(o.Total)}
	for _, l := range sorted(o.Lines) {
		a.Lines = append(a.Lines, answer.CheckoutLine{ProductID: l.ProductId, Quantity: int64(l.Quantity), UnitPrice: money(l.UnitPrice)})
	}
	return a, nil
}

func updateProfile(ctx context.Context, c call) (answer.Answer, error) {
	u, err := c.user.UpdateUser(ctx, &userv1.UpdateUserRequest{
		User:       &userv1.User{Id: c.e.Params.UserID, Address: addressOf(*c.e.Params.Address)},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"address"}},
	})
	if err != nil {
		return nil, err
	}
	return &answer.UpdateProfile{Address: address(u.Address), ID: u.Id}, nil
}

// orderStatus gets the order and its payment side by side.
func orderStatus(ctx context.Context, c call) (answer.Answer, error) {
	var (
		o    *orderv1.Order
		paid []*paymentv1.Payment
	)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		o, err = c.order.GetOrder(ctx, &orderv1.GetOrderRequest{Id: c.e.Params.OrderID})
		return err
	})
	group.Go(func() (err error) {
		paid, err = c.payments(ctx, c.e.Params.OrderID)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return statusOf(o, paid), nil
}

// bulkLines reads the stream of lines to its end.
func bulkLines(ctx context.Context, c call) (answer.Answer, error) {
	stream, err := c.order.StreamOrderLines(ctx, &orderv1.StreamOrderLinesRequest{
		AfterLineId: *c.e.Params.AfterLineID, Limit: shopdata.BulkPage,
	})
	if err != nil {
		return nil, err
	}
	a := &answer.BulkLines{Lines: make([]answer.BulkLine, 0, shopdata.BulkPage)}
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return a, nil
		}
		if err != nil {
			return nil, err
		}
		for _, l := range chunk.Lines {
			a.Lines = append(a.Lines, answer.BulkLine{
				ID: l.Id, OrderID: l.OrderId, PlacedAt: instant(l.CreateTime), ProductID: l.ProductId, Quantity: int64(l.Quantity),
				Status: orderStatusName(l.Status), UnitPrice: money(l.UnitPrice), UserID: l.UserId,
			})
		}
	}
}
