package rest

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"hopwise/load/internal/answer"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shopdata"
)

// browse gets the page with the reviews of its products in one request.
func browse(ctx context.Context, c call) (answer.Answer, error) {
	products, err := c.listProducts(ctx, "reviews")
	if err != nil {
		return nil, err
	}
	return browsed(products), nil
}

// browseOneByOne lists the products, then gets one after the other with its reviews.
func browseOneByOne(ctx context.Context, c call) (answer.Answer, error) {
	listed, err := c.listProducts(ctx, "")
	if err != nil {
		return nil, err
	}
	products := make([]product, len(listed))
	for i, p := range listed {
		if products[i], err = c.product(ctx, p.ID, url.Values{"include": {"reviews"}}); err != nil {
			return nil, err
		}
	}
	return browsed(products), nil
}

func (c call) listProducts(ctx context.Context, include string) ([]product, error) {
	query := url.Values{"category": {c.e.Params.Category}, "page_size": {strconv.Itoa(shopdata.BrowsePage)}}
	if include != "" {
		query.Set("include", include)
	}
	page, err := fetch[productPage](ctx, c.x, c.get("/v1/products", "/v1/products", query), http.StatusOK)
	return page.Products, err
}

func (c call) product(ctx context.Context, id int64, query url.Values) (product, error) {
	return fetch[product](ctx, c.x, c.get("/v1/products/{id}", "/v1/products/"+number(id), query), http.StatusOK)
}

func browsed(products []product) *answer.Browse {
	a := &answer.Browse{Products: make([]answer.BrowsedProduct, 0, len(products))}
	for _, p := range products {
		a.Products = append(a.Products, answer.BrowsedProduct{
			ID: p.ID, Price: p.Price, Reviews: p.Reviews, Stock: p.Stock, Title: p.Title,
		})
	}
	return a
}

func productDetail(ctx context.Context, c call) (answer.Answer, error) {
	p, err := c.product(ctx, c.e.Params.ProductID, nil)
	if err != nil {
		return nil, err
	}
	return &answer.Product{
		Category: p.Category, Description: p.Description, ID: p.ID, Price: p.Price, Stock: p.Stock, Title: p.Title,
	}, nil
}

// login opens a session and fetches the profile with the token that it got.
func login(ctx context.Context, c call) (answer.Answer, error) {
	r, err := c.write(http.MethodPost, "/v1/sessions", "/v1/sessions",
		credentials{shopdata.Email(c.e.Params.UserID), shopdata.Password})
	if err != nil {
		return nil, err
	}
	opened, err := fetch[session](ctx, c.x, r, http.StatusCreated)
	if err != nil {
		return nil, err
	}
	if opened.Token == "" || opened.User.ID == 0 {
		return nil, outcome.Wrong("the answer to the login has no token or no user")
	}
	c.token = opened.Token
	u, err := fetch[user](ctx, c.x, c.get("/v1/users/{id}", "/v1/users/"+number(opened.User.ID), nil), http.StatusOK)
	if err != nil {
		return nil, err
	}
	return &answer.Login{Email: u.Email, ID: u.ID, Name: u.Name}, nil
}

func checkout(ctx context.Context, c call) (answer.Answer, error) {
	r, err := c.write(http.MethodPost, "/v1/orders", "/v1/orders",
		newOrder{c.e.Params.UserID, c.e.Params.Lines, shopdata.PaymentToken})
	if err != nil {
		return nil, err
	}
	r.Header = map[string]string{"Idempotency-Key": c.e.Params.IdempotencyKey}
	o, err := fetch[order](ctx, c.x, r, http.StatusCreated)
	if err != nil {
		return nil, err
	}
	sortLines(o.Lines)
	a := &answer.Checkout{OrderID: o.ID, Status: o.Status, Total: o.Total}
	for _, l := range o.Lines {
		a.Lines = append(a.Lines, answer.CheckoutLine{ProductID: l.ProductID, Quantity: l.Quantity, UnitPrice: l.UnitPrice})
	}
	return a, nil
}

func updateProfile(ctx context.Context, c call) (answer.Answer, error) {
	r, err := c.write(http.MethodPatch, "/v1/users/{id}", "/v1/users/"+number(c.e.Params.UserID), profileChange{c.e.Params.Address})
	if err != nil {
		return nil, err
	}
	u, err := fetch[user](ctx, c.x, r, http.StatusOK)
	if err != nil {
		return nil, err
	}
	return &answer.UpdateProfile{Address: u.Address, ID: u.ID}, nil
}

// orderStatusIncluded gets the order with its payment in one request.
func orderStatusIncluded(ctx context.Context, c call) (answer.Answer, error) {
	o, err := c.order(ctx, url.Values{"include": {"payment"}})
	if err != nil {
		return nil, err
	}
	return statusOf(o, o.Payment), nil
}

// orderStatus gets the order and its payment side by side.
func orderStatus(ctx context.Context, c call) (answer.Answer, error) {
	var (
		o    order
		paid []payment
	)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		o, err = c.order(ctx, nil)
		return err
	})
	group.Go(func() (err error) {
		paid, err = c.payments(ctx, c.e.Params.OrderID)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return statusOf(o, paid...), nil
}

// orderStatusOneByOne gets the order, then its payment.
func orderStatusOneByOne(ctx context.Context, c call) (answer.Answer, error) {
	o, err := c.order(ctx, nil)
	if err != nil {
		return nil, err
	}
	paid, err := c.payments(ctx, o.ID)
	if err != nil {
		return nil, err
	}
	return statusOf(o, paid...), nil
}

func (c call) order(ctx context.Context, query url.Values) (order, error) {
	return fetch[order](ctx, c.x, c.get("/v1/orders/{id}", "/v1/orders/"+number(c.e.Params.OrderID), query), http.StatusOK)
}

func statusOf(o order, payments ...payment) *answer.OrderStatus {
	a := &answer.OrderStatus{ID: o.ID, Status: o.Status, Total: o.Total}
	for _, p := range payments {
		if p.OrderID == o.ID {
			a.Payment = answer.Payment{Amount: p.Amount, Status: p.Status}
		}
	}
	return a
}

func bulkLines(ctx context.Context, c call) (answer.Answer, error) {
	page, err := fetch[linePage](ctx, c.x, c.get("/v1/order-lines", "/v1/order-lines", url.Values{
		"after_line_id": {number(*c.e.Params.AfterLineID)},
		"page_size":     {strconv.Itoa(shopdata.BulkPage)},
	}), http.StatusOK)
	if err != nil {
		return nil, err
	}
	for i := range page.Lines {
		page.Lines[i].PlacedAt = answer.Instant(page.Lines[i].PlacedAt)
	}
	return &answer.BulkLines{Lines: page.Lines}, nil
}

func sortLines(lines []orderLine) {
	slices.SortFunc(lines, func(a, b orderLine) int { return cmp.Compare(a.LineNumber, b.LineNumber) })
}
