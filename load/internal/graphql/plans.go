package graphql

import (
	"cmp"
	"context"
	"slices"

	"hopwise/load/internal/answer"
	"hopwise/load/internal/journey"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shopdata"
)

func browse(ctx context.Context, c call) (answer.Answer, error) {
	type data struct {
		Products connection[productNode] `json:"products"`
	}
	got, err := ask[data](ctx, c.x, c.documents[0], map[string]any{"category": c.e.Params.Category}, c.token)
	if err != nil {
		return nil, err
	}
	a := &answer.Browse{Products: make([]answer.BrowsedProduct, 0, len(got.Products.Edges))}
	for _, edge := range got.Products.Edges {
		p := edge.Node
		reviews := make([]answer.Review, 0, len(p.Reviews))
		for _, r := range p.Reviews {
			reviews = append(reviews, answer.Review{ID: r.ID.of("Review"), Rating: r.Rating, Title: r.Title})
		}
		a.Products = append(a.Products, answer.BrowsedProduct{
			ID: p.ID.of("Product"), Price: p.Price.canonical(), Reviews: reviews, Stock: p.Stock, Title: p.Title,
		})
	}
	return a, nil
}

func product(ctx context.Context, c call) (answer.Answer, error) {
	type data struct {
		Product productNode `json:"product"`
	}
	variables := map[string]any{"id": globalID("Product", c.e.Params.ProductID)}
	got, err := ask[data](ctx, c.x, c.documents[0], variables, c.token)
	if err != nil {
		return nil, err
	}
	p := got.Product
	return &answer.Product{
		Category: p.Category, Description: p.Description, ID: p.ID.of("Product"),
		Price: p.Price.canonical(), Stock: p.Stock, Title: p.Title,
	}, nil
}

// login logs in and fetches the profile with the token that it got.
func login(ctx context.Context, c call) (answer.Answer, error) {
	type session struct {
		Login struct {
			Token string `json:"token"`
		} `json:"login"`
	}
	type profile struct {
		Me userNode `json:"me"`
	}
	credentials := map[string]any{"email": shopdata.Email(c.e.Params.UserID), "password": shopdata.Password}
	opened, err := ask[session](ctx, c.x, c.documents[0], credentials, "")
	if err != nil {
		return nil, err
	}
	if opened.Login.Token == "" {
		return nil, outcome.Wrong("the answer to the login has no token")
	}
	got, err := ask[profile](ctx, c.x, c.documents[1], nil, opened.Login.Token)
	if err != nil {
		return nil, err
	}
	return &answer.Login{Email: got.Me.Email, ID: got.Me.ID.of("User"), Name: got.Me.Name}, nil
}

func orderHistory(ctx context.Context, c call) (answer.Answer, error) {
	type data struct {
		Me userNode `json:"me"`
	}
	got, err := ask[data](ctx, c.x, c.documents[0], map[string]any{"first": shopdata.OrdersPerRegular}, c.token)
	if err != nil {
		return nil, err
	}
	if user := got.Me.ID.of("User"); user != c.e.Params.UserID {
		return nil, outcome.Wrong("the history is that of user %d instead of %d", user, c.e.Params.UserID)
	}
	a := &answer.OrderHistory{Orders: make([]answer.HistoryOrder, 0, len(got.Me.Orders.Edges))}
	for _, edge := range got.Me.Orders.Edges {
		o := edge.Node
		sortLines(o.Lines)
		lines := make([]answer.HistoryLine, 0, len(o.Lines))
		for _, l := range o.Lines {
			lines = append(lines, answer.HistoryLine{
				ProductID: l.Product.ID.of("Product"), Quantity: l.Quantity,
				Title: l.Product.Title, UnitPrice: l.UnitPrice.canonical(),
			})
		}
		a.Orders = append(a.Orders, answer.HistoryOrder{
			ID: o.ID.of("Order"), Lines: lines, PaymentStatus: o.Payment.Status,
			PlacedAt: answer.Instant(o.PlacedAt), Status: o.Status, Total: o.Total.canonical(),
		})
	}
	return a, nil
}

func checkout(ctx context.Context, c call) (answer.Answer, error) {
	type data struct {
		Checkout struct {
			Order orderNode `json:"order"`
		} `json:"checkout"`
	}
	lines := make([]map[string]any, 0, len(c.e.Params.Lines))
	for _, l := range c.e.Params.Lines {
		lines = append(lines, map[string]any{"productId": globalID("Product", l.ProductID), "quantity": l.Quantity})
	}
	input := map[string]any{
		"idempotencyKey": c.e.Params.IdempotencyKey, "lines": lines, "paymentToken": shopdata.PaymentToken,
	}
	if c.e.Channel == journey.Partner {
		input["userId"] = globalID("User", c.e.Params.UserID)
	}
	got, err := ask[data](ctx, c.x, c.documents[0], map[string]any{"input": input}, c.token)
	if err != nil {
		return nil, err
	}
	o := got.Checkout.Order
	sortLines(o.Lines)
	a := &answer.Checkout{OrderID: o.ID.of("Order"), Status: o.Status, Total: o.Total.canonical()}
	for _, l := range o.Lines {
		a.Lines = append(a.Lines, answer.CheckoutLine{
			ProductID: l.Product.ID.of("Product"), Quantity: l.Quantity, UnitPrice: l.UnitPrice.canonical(),
		})
	}
	return a, nil
}

func updateProfile(ctx context.Context, c call) (answer.Answer, error) {
	type data struct {
		UpdateProfile struct {
			User userNode `json:"user"`
		} `json:"updateProfile"`
	}
	variables := map[string]any{"address": addressOf(*c.e.Params.Address)}
	got, err := ask[data](ctx, c.x, c.documents[0], variables, c.token)
	if err != nil {
		return nil, err
	}
	user := got.UpdateProfile.User
	return &answer.UpdateProfile{Address: user.Address.canonical(), ID: user.ID.of("User")}, nil
}

func orderStatus(ctx context.Context, c call) (answer.Answer, error) {
	type data struct {
		Order orderNode `json:"order"`
	}
	variables := map[string]any{"id": globalID("Order", c.e.Params.OrderID)}
	got, err := ask[data](ctx, c.x, c.documents[0], variables, c.token)
	if err != nil {
		return nil, err
	}
	o := got.Order
	return &answer.OrderStatus{
		ID: o.ID.of("Order"), Status: o.Status, Total: o.Total.canonical(),
		Payment: answer.Payment{Amount: o.Payment.Amount.canonical(), Status: o.Payment.Status},
	}, nil
}

func bulkLines(ctx context.Context, c call) (answer.Answer, error) {
	type data struct {
		OrderLines connection[lineNode] `json:"orderLines"`
	}
	variables := map[string]any{
		"first": shopdata.BulkPage, "after": globalID("OrderLine", *c.e.Params.AfterLineID),
	}
	got, err := ask[data](ctx, c.x, c.documents[0], variables, c.token)
	if err != nil {
		return nil, err
	}
	a := &answer.BulkLines{Lines: make([]answer.BulkLine, 0, len(got.OrderLines.Edges))}
	for _, edge := range got.OrderLines.Edges {
		l := edge.Node
		if l.Order == nil {
			return nil, outcome.Wrong("line %d has no order", l.ID.number)
		}
		a.Lines = append(a.Lines, answer.BulkLine{
			ID: l.ID.of("OrderLine"), OrderID: l.Order.ID.of("Order"), PlacedAt: answer.Instant(l.Order.PlacedAt),
			ProductID: l.Product.ID.of("Product"), Quantity: l.Quantity, Status: l.Order.Status,
			UnitPrice: l.UnitPrice.canonical(), UserID: l.Order.User.ID.of("User"),
		})
	}
	return a, nil
}

func sortLines(lines []lineNode) {
	slices.SortFunc(lines, func(a, b lineNode) int { return cmp.Compare(a.LineNumber, b.LineNumber) })
}
