package rest

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"hopwise/load/internal/answer"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shopdata"
)

func browse(ctx context.Context, c call) (answer.Answer, error) {
	page, err := fetch[productPage](ctx, c.x, c.get("/v1/products", "/v1/products", url.Values{
		"category":  {c.e.Params.Category},
		"page_size": {strconv.Itoa(shopdata.BrowsePage)},
		"include":   {"reviews"},
	}), http.StatusOK)
	if err != nil {
		return nil, err
	}
	a := &answer.Browse{Products: make([]answer.BrowsedProduct, 0, len(page.Products))}
	for _, p := range page.Products {
		a.Products = append(a.Products, answer.BrowsedProduct{
			ID: p.ID, Price: p.Price, Reviews: p.Reviews, Stock: p.Stock, Title: p.Title,
		})
	}
	return a, nil
}

func productDetail(ctx context.Context, c call) (answer.Answer, error) {
	p, err := fetch[product](ctx, c.x, c.get("/v1/products/{id}", "/v1/products/"+number(c.e.Params.ProductID), nil), http.StatusOK)
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

// orderHistory gets the orders, then the products of all their lines and all their payments side by side.
func orderHistory(ctx context.Context, c call) (answer.Answer, error) {
	page, err := fetch[orderPage](ctx, c.x, c.get(
		"/v1/users/{id}/orders", "/v1/users/"+number(c.e.Params.UserID)+"/orders",
		url.Values{"page_size": {strconv.Itoa(shopdata.OrdersPerRegular)}},
	), http.StatusOK)
	if err != nil {
		return nil, err
	}
	var orders, products []int64
	for _, o := range page.Orders {
		if o.UserID != c.e.Params.UserID {
			return nil, outcome.Wrong("order %d is of user %d instead of %d", o.ID, o.UserID, c.e.Params.UserID)
		}
		orders = append(orders, o.ID)
		for _, l := range o.Lines {
			products = append(products, l.ProductID)
		}
	}
	if len(products) == 0 {
		return nil, outcome.Wrong("the history has no order with lines")
	}
	slices.Sort(products)
	products = slices.Compact(products)

	titles := make(map[int64]string, len(products))
	paid := make(map[int64]string, len(orders))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		found, err := fetch[productPage](ctx, c.x, c.get("/v1/products", "/v1/products", url.Values{
			"ids": {numbers(products)},
		}), http.StatusOK)
		for _, p := range found.Products {
			titles[p.ID] = p.Title
		}
		return err
	})
	group.Go(func() error {
		found, err := fetch[paymentPage](ctx, c.x, c.get("/v1/payments", "/v1/payments", url.Values{
			"order_ids": {numbers(orders)},
		}), http.StatusOK)
		for _, p := range found.Payments {
			paid[p.OrderID] = p.Status
		}
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return composeHistory(page, titles, paid), nil
}

func composeHistory(page orderPage, titles, paid map[int64]string) *answer.OrderHistory {
	a := &answer.OrderHistory{Orders: make([]answer.HistoryOrder, 0, len(page.Orders))}
	for _, o := range page.Orders {
		sortLines(o.Lines)
		lines := make([]answer.HistoryLine, 0, len(o.Lines))
		for _, l := range o.Lines {
			lines = append(lines, answer.HistoryLine{
				ProductID: l.ProductID, Quantity: l.Quantity, Title: titles[l.ProductID], UnitPrice: l.UnitPrice,
			})
		}
		a.Orders = append(a.Orders, answer.HistoryOrder{
			ID: o.ID, Lines: lines, PaymentStatus: paid[o.ID],
			PlacedAt: answer.Instant(o.PlacedAt), Status: o.Status, Total: o.Total,
		})
	}
	return a
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

func orderStatus(ctx context.Context, c call) (answer.Answer, error) {
	o, err := fetch[order](ctx, c.x, c.get("/v1/orders/{id}", "/v1/orders/"+number(c.e.Params.OrderID), url.Values{
		"include": {"payment"},
	}), http.StatusOK)
	if err != nil {
		return nil, err
	}
	return &answer.OrderStatus{
		ID: o.ID, Payment: answer.Payment{Amount: o.Payment.Amount, Status: o.Payment.Status}, Status: o.Status, Total: o.Total,
	}, nil
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

func number(id int64) string { return strconv.FormatInt(id, 10) }

func numbers(ids []int64) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = number(id)
	}
	return strings.Join(texts, ",")
}
