package gateway

import (
	"cmp"
	"context"
	"errors"
	"io"

	"hopwise/proto/stubs/orderv1"
	"hopwise/proto/stubs/productv1"
	"hopwise/proto/stubs/userv1"
	"hopwise/services/internal/graph"
	"hopwise/services/internal/lists"
	"hopwise/services/internal/peer"
	"hopwise/services/internal/shoperr"
	"hopwise/services/internal/stubs/schema"
)

// Maximum page sizes: of each list, and of the page to request for it, as a cursor may be inside another page.
const (
	maxListed        = 100
	maxOrders        = 50
	maxLines         = 1_000
	maxPerPage       = 2 * maxListed
	maxOrdersPerPage = 100
)

type resolvers struct{}

func (resolvers) Query() schema.QueryResolver       { return queries{} }
func (resolvers) Mutation() schema.MutationResolver { return mutations{} }
func (resolvers) User() schema.UserResolver         { return users{} }

type (
	queries struct{}
	users   struct{}
)

func (queries) Product(ctx context.Context, id string) (*graph.Product, error) {
	number, err := graph.Number(id, "Product", "id")
	if err != nil {
		return nil, err
	}
	graph.ExpectProducts(ctx)
	var product *graph.Product
	if reviews := graph.CountReviews(ctx); reviews > 0 {
		product, err = graph.Of(ctx).Reviewed.Load(graph.ReviewsKey{Product: number, First: reviews})
	} else {
		product, err = graph.Of(ctx).Products.Load(number)
	}
	return shoperr.Existing(product, err, "product", number)
}

func (queries) Products(ctx context.Context, first int32, after, category *string) (*schema.ProductConnection, error) {
	if err := graph.CheckFirst(first, maxListed); err != nil {
		return nil, err
	}
	r, reviews := graph.Of(ctx), graph.CountReviews(ctx, "edges", "node")
	skip, _, err := cursorOf(after, maxPerPage)
	// A cursor inside a page skips the products before it, so they are read without reviews.
	withReviews := reviews > 0 && err == nil && skip == 0
	products, edges, info, err := connect(func(size int32, token string) ([]*graph.Product, string, error) {
		if !withReviews {
			page, err := r.Services.Product.ListProducts(
				ctx, &productv1.ListProductsRequest{PageSize: size, PageToken: token, Category: value(category)})
			return lists.Map(page.GetProducts(), graph.NewProduct), page.GetNextPageToken(), err
		}
		page, err := r.Services.Product.ListProductsWithReviews(ctx, &productv1.ListProductsWithReviewsRequest{
			PageSize: size, PageToken: token, Category: value(category), ReviewLimit: reviews,
		})
		made := func(p *productv1.ReviewedProduct) *graph.Product { return graph.NewReviewedProduct(p, reviews) }
		return lists.Map(page.GetProducts(), made), page.GetNextPageToken(), err
	}, func(node *graph.Product, cursor string) *schema.ProductEdge {
		return &schema.ProductEdge{Node: node, Cursor: cursor}
	}, first, after, maxPerPage)
	if withReviews {
		r.ExpectAuthors(products...)
	} else {
		r.ExpectReviews(products, reviews)
	}
	return &schema.ProductConnection{Edges: edges, PageInfo: info}, err
}

func (queries) Document(ctx context.Context, id string) (*graph.Document, error) {
	number, err := graph.Number(id, "Document", "id")
	if err != nil {
		return nil, err
	}
	document, err := graph.Of(ctx).Services.Product.GetDocument(ctx, &productv1.GetDocumentRequest{Id: number})
	return &graph.Document{Document: document}, err
}

func (queries) Me(ctx context.Context) (*graph.User, error) { return graph.Of(ctx).Me(ctx) }

func (queries) User(ctx context.Context, id string) (*graph.User, error) {
	number, err := graph.Number(id, "User", "id")
	if err != nil {
		return nil, err
	}
	// Only this user and partners may see the result.
	if err := graph.Of(ctx).AdmitFor(userv1.UserService_GetUser_FullMethodName, number, ""); err != nil {
		return nil, err
	}
	user, err := graph.Of(ctx).Users.Load(number)
	return shoperr.Existing(user, err, "user", number)
}

func (queries) Users(ctx context.Context, first int32, after *string) (*schema.UserConnection, error) {
	err := cmp.Or(graph.Of(ctx).Admit(userv1.UserService_ListUsers_FullMethodName), graph.CheckFirst(first, maxListed))
	if err != nil {
		return nil, err
	}
	_, edges, info, err := connect(func(size int32, token string) ([]*graph.User, string, error) {
		page, err := graph.Of(ctx).Services.User.ListUsers(ctx, &userv1.ListUsersRequest{PageSize: size, PageToken: token})
		return lists.Map(page.GetUsers(), graph.NewUser), page.GetNextPageToken(), err
	}, func(node *graph.User, cursor string) *schema.UserEdge {
		return &schema.UserEdge{Node: node, Cursor: cursor}
	}, first, after, maxPerPage)
	return &schema.UserConnection{Edges: edges, PageInfo: info}, err
}

func (queries) Order(ctx context.Context, id string) (*graph.Order, error) {
	number, err := graph.Number(id, "Order", "id")
	if err != nil {
		return nil, err
	}
	r := graph.Of(ctx)
	if _, err := r.Caller(); err == nil && graph.Asks(ctx, "payment") {
		r.Payments.Expect(number)
	}
	return r.OwnOrder(ctx, number)
}

func (queries) OrderLines(ctx context.Context, first int32, after *string) (*schema.OrderLineConnection, error) {
	err := cmp.Or(
		graph.Of(ctx).Admit(orderv1.OrderService_StreamOrderLines_FullMethodName), graph.CheckFirst(first, maxLines))
	if err != nil {
		return nil, err
	}
	behind := int64(0)
	if value(after) != "" {
		kind, number, err := graph.SplitID(*after, "after")
		if err == nil && kind != "OrderLine" {
			err = shoperr.Invalid("after",
				"after identifies a %s; an id or cursor of an OrderLine is needed", kind)
		}
		if err != nil {
			return nil, err
		}
		behind = number
	}
	rows, err := lines(ctx, &orderv1.StreamOrderLinesRequest{AfterLineId: behind, Limit: first + 1})
	if err != nil {
		return nil, err
	}
	hasNext := len(rows) > int(first)
	rows = rows[:min(len(rows), int(first))]
	edges, cursors := make([]*schema.OrderLineEdge, len(rows)), make([]string, len(rows))
	nodes := make([]*graph.OrderLine, len(rows))
	for place, row := range rows {
		nodes[place] = graph.Of(ctx).NewLine(row)
		cursors[place] = nodes[place].ID()
		edges[place] = &schema.OrderLineEdge{Node: nodes[place], Cursor: cursors[place]}
	}
	graph.ExpectLines(ctx, nodes, "edges", "node")
	return &schema.OrderLineConnection{Edges: edges, PageInfo: infoOf(cursors, hasNext, behind > 0)}, nil
}

func lines(ctx context.Context, asked *orderv1.StreamOrderLinesRequest) ([]*orderv1.JoinedOrderLine, error) {
	stream, err := graph.Of(ctx).Services.Order.StreamOrderLines(ctx, asked)
	var rows []*orderv1.JoinedOrderLine
	for err == nil {
		var chunk *orderv1.StreamOrderLinesResponse
		if chunk, err = stream.Recv(); err == nil {
			rows = append(rows, chunk.Lines...)
		}
	}
	if errors.Is(err, io.EOF) {
		return rows, nil
	}
	return nil, peer.Restore(err, "order")
}

func (queries) Payment(ctx context.Context, id string) (*graph.Payment, error) {
	number, err := graph.Number(id, "Payment", "id")
	if err != nil {
		return nil, err
	}
	return graph.Of(ctx).OwnPayment(ctx, number)
}

func (q queries) Node(ctx context.Context, id string) (graph.Node, error) {
	kind, _, err := graph.SplitID(id, "id")
	if err != nil {
		return nil, err
	}
	switch kind {
	case "Order":
		return node(q.Order(ctx, id))
	case "Payment":
		return node(q.Payment(ctx, id))
	case "Product":
		return node(q.Product(ctx, id))
	case "User":
		return node(q.User(ctx, id))
	}
	return nil, shoperr.Invalid("id",
		"id identifies a %s; valid: ids of Order, Payment, Product, User", kind)
}

// node keeps a nil pointer from becoming an interface that is not nil.
func node[N graph.Node](thing N, err error) (graph.Node, error) {
	if err != nil {
		return nil, err
	}
	return thing, nil
}

func (users) Orders(ctx context.Context, of *graph.User, first int32, after *string) (*schema.OrderConnection, error) {
	if err := cmp.Or(of.CheckOwner(ctx), graph.CheckFirst(first, maxOrders)); err != nil {
		return nil, err
	}
	r := graph.Of(ctx)
	orders, edges, info, err := connect(func(size int32, token string) ([]*graph.Order, string, error) {
		page, err := r.Services.Order.ListOrdersByUser(
			ctx, &orderv1.ListOrdersByUserRequest{UserId: of.Id, PageSize: size, PageToken: token})
		return lists.Map(page.GetOrders(), r.NewOrder), page.GetNextPageToken(), err
	}, func(node *graph.Order, cursor string) *schema.OrderEdge {
		return &schema.OrderEdge{Node: node, Cursor: cursor}
	}, first, after, maxOrdersPerPage)
	graph.ExpectOrders(ctx, orders, "edges", "node")
	return &schema.OrderConnection{Edges: edges, PageInfo: info}, err
}

func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
