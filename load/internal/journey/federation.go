package journey

import (
	"context"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
)

// federationDocuments is the folder with routers' documents: subgraphs have plain ids, and pages have no edges.
const federationDocuments = "federation/"

func asksRouter[T any](variables func(Params) graphql.Variables, read func(T, Params) (Answer, error)) graphQLPlan {
	return asksIn(federationDocuments, func(e Entry) graphql.Variables { return variables(e.Params) }, read)
}

var browseFederated = asksRouter(
	func(p Params) graphql.Variables { return graphql.Variables{"category": p.Category} },
	func(data struct {
		Page struct {
			Products []graphql.Product `json:"products"`
		} `json:"productPageWithReviews"`
	}, _ Params) (Answer, error) {
		return newBrowseAnswer(shop.Mapped(data.Page.Products, graphql.Product.Canonical)), nil
	},
)

var (
	productFederated     = asksRouterForProduct(newProductAnswer)
	productCardFederated = asksRouterForProduct(newProductCardAnswer)
)

func asksRouterForProduct[A Answer](answer func(shop.Product) A) graphQLPlan {
	return asksRouter(
		func(p Params) graphql.Variables { return graphql.Variables{"id": p.ProductID} },
		func(data struct {
			Product graphql.Product `json:"product"`
		}, _ Params) (Answer, error) {
			return answer(data.Product.Canonical()), nil
		},
	)
}

var documentFederated = asksRouter(
	func(p Params) graphql.Variables { return graphql.Variables{"id": p.DocumentID} },
	func(data struct {
		Document graphql.Document `json:"document"`
	}, _ Params) (Answer, error) {
		return newDocumentAnswer(data.Document.Canonical()), nil
	},
)

func loginFederated(ctx context.Context, c graphql.Client, e Entry) (Answer, error) {
	opened, err := graphql.Ask[struct {
		Login struct {
			Token string       `json:"token"`
			User  graphql.User `json:"user"`
		} `json:"login"`
	}](ctx, c, federationDocuments+"login", graphql.Variables{"email": shopdata.Email(e.Params.UserID), "password": shopdata.Password})
	if err != nil {
		return nil, err
	}
	user := opened.Login.User.Canonical()
	if opened.Login.Token == "" || user.ID == 0 {
		return nil, outcome.Wrong("the answer to the login has no token or no user")
	}
	profile, err := graphql.Ask[struct {
		User graphql.User `json:"user"`
	}](ctx, c.In(opened.Login.Token), federationDocuments+"profile", graphql.Variables{"id": user.ID})
	return newLoginAnswer(profile.User.Canonical()), err
}

var orderHistoryFederated = asksRouter(
	func(p Params) graphql.Variables {
		return graphql.Variables{"id": p.UserID, "first": shopdata.OrdersPerRegular}
	},
	func(data struct {
		Page struct {
			Items []struct {
				graphql.Order
				UserID int64 `json:"userId"`
			} `json:"items"`
		} `json:"ordersByUser"`
	}, p Params) (Answer, error) {
		orders := make([]shop.Order, 0, len(data.Page.Items))
		for _, order := range data.Page.Items {
			if order.UserID != p.UserID {
				return nil, outcome.Wrong("the history has an order of user %d instead of %d", order.UserID, p.UserID)
			}
			orders = append(orders, order.Canonical())
		}
		return newOrderHistoryAnswer(orders), nil
	},
)

var checkoutFederated = asksRouter(
	func(p Params) graphql.Variables {
		items := make([]graphql.Variables, 0, len(p.Lines))
		for _, i := range p.Lines {
			items = append(items, graphql.Variables{"productId": i.ProductID, "quantity": i.Quantity})
		}
		return graphql.Variables{
			"userId": p.UserID, "lines": items, "paymentToken": shopdata.PaymentToken, "idempotencyKey": p.IdempotencyKey,
		}
	},
	func(data struct {
		Order graphql.Order `json:"checkout"`
	}, _ Params) (Answer, error) {
		return newCheckoutAnswer(data.Order.Canonical()), nil
	},
)

var updateProfileFederated = asksRouter(
	func(p Params) graphql.Variables {
		return graphql.Variables{"id": p.UserID, "address": graphql.Address(*p.Address)}
	},
	func(data struct {
		User graphql.User `json:"updateUser"`
	}, _ Params) (Answer, error) {
		return newUpdateProfileAnswer(data.User.Canonical()), nil
	},
)

var orderStatusFederated = asksRouter(
	func(p Params) graphql.Variables { return graphql.Variables{"id": p.OrderID} },
	func(data struct {
		Order graphql.Order `json:"order"`
	}, _ Params) (Answer, error) {
		return newOrderStatusAnswer(data.Order.Canonical()), nil
	},
)

var bulkLinesFederated = asksRouter(
	func(p Params) graphql.Variables {
		return graphql.Variables{"first": shopdata.BulkPage, "after": *p.AfterLineID}
	},
	func(data struct {
		Lines []graphql.SubgraphLine `json:"orderLines"`
	}, _ Params) (Answer, error) {
		return &bulkLinesAnswer{Lines: shop.Mapped(data.Lines, graphql.SubgraphLine.Canonical)}, nil
	},
)

var productFeedFederated = asksRouter(
	func(p Params) graphql.Variables { return graphql.Variables{"category": p.Category} },
	func(data struct {
		Page struct {
			Products []graphql.Product `json:"products"`
		} `json:"productPage"`
	}, _ Params) (Answer, error) {
		return newProductFeedAnswer(shop.Mapped(data.Page.Products, graphql.Product.Canonical)), nil
	},
)

var orderListFederated = asksRouter(
	func(p Params) graphql.Variables {
		return graphql.Variables{"id": p.UserID, "first": shopdata.OrdersPerRegular}
	},
	func(data struct {
		Page struct {
			Items []graphql.Order `json:"items"`
		} `json:"ordersByUser"`
	}, _ Params) (Answer, error) {
		return newOrderListAnswer(shop.Mapped(data.Page.Items, graphql.Order.Canonical)), nil
	},
)
