package journey

import (
	"context"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
)

// The plans over a router that differ from those over the gateway: its pages have no edges, and its calls name the user.

var browseFederated = asks(
	func(_ graphql.Client, e Entry) graphql.Variables {
		return graphql.Variables{"category": e.Params.Category}
	},
	func(data struct {
		Page struct {
			Products []graphql.Product `json:"products"`
		} `json:"productPageWithReviews"`
	}, _ Params) (Answer, error) {
		return newBrowseAnswer(shop.Mapped(data.Page.Products, graphql.Product.Canonical)), nil
	},
)

func loginFederated(ctx context.Context, c graphql.Client, e Entry) (Answer, error) {
	opened, err := graphql.Ask[struct {
		Login struct {
			Token string       `json:"token"`
			User  graphql.User `json:"user"`
		} `json:"login"`
	}](ctx, c, "login", graphql.Variables{"email": shopdata.Email(e.Params.UserID), "password": shopdata.Password})
	if err != nil {
		return nil, err
	}
	user := opened.Login.User.Canonical()
	if opened.Login.Token == "" || user.ID == 0 {
		return nil, outcome.Wrong("the answer to the login has no token or no user")
	}
	profile, err := graphql.Ask[struct {
		User graphql.User `json:"user"`
	}](ctx, c.In(opened.Login.Token), "profile", graphql.Variables{"id": user.ID})
	return newLoginAnswer(profile.User.Canonical()), err
}

var orderHistoryFederated = asks(
	func(_ graphql.Client, e Entry) graphql.Variables {
		return graphql.Variables{"id": e.Params.UserID, "first": shopdata.OrdersPerRegular}
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

var checkoutFederated = asks(
	func(_ graphql.Client, e Entry) graphql.Variables {
		items := make([]graphql.Variables, 0, len(e.Params.Lines))
		for _, i := range e.Params.Lines {
			items = append(items, graphql.Variables{"productId": i.ProductID, "quantity": i.Quantity})
		}
		return graphql.Variables{
			"userId": e.Params.UserID, "lines": items, "paymentToken": shopdata.PaymentToken, "idempotencyKey": e.Params.IdempotencyKey,
		}
	},
	func(data struct {
		Order graphql.Order `json:"checkout"`
	}, _ Params) (Answer, error) {
		return newCheckoutAnswer(data.Order.Canonical()), nil
	},
)

var updateProfileFederated = asks(
	func(_ graphql.Client, e Entry) graphql.Variables {
		return graphql.Variables{"id": e.Params.UserID, "address": graphql.Address(*e.Params.Address)}
	},
	func(data struct {
		User graphql.User `json:"updateUser"`
	}, _ Params) (Answer, error) {
		return newUpdateProfileAnswer(data.User.Canonical()), nil
	},
)

var bulkLinesFederated = asks(
	func(_ graphql.Client, e Entry) graphql.Variables {
		return graphql.Variables{"first": shopdata.BulkPage, "after": *e.Params.AfterLineID}
	},
	func(data struct {
		Lines []graphql.SubgraphLine `json:"orderLines"`
	}, _ Params) (Answer, error) {
		return &bulkLinesAnswer{Lines: shop.Mapped(data.Lines, graphql.SubgraphLine.Canonical)}, nil
	},
)

var productFeedFederated = asks(
	func(_ graphql.Client, e Entry) graphql.Variables {
		return graphql.Variables{"category": e.Params.Category}
	},
	func(data struct {
		Page struct {
			Products []graphql.Product `json:"products"`
		} `json:"productPage"`
	}, _ Params) (Answer, error) {
		return newProductFeedAnswer(shop.Mapped(data.Page.Products, graphql.Product.Canonical)), nil
	},
)

var orderListFederated = asks(
	func(_ graphql.Client, e Entry) graphql.Variables {
		return graphql.Variables{"id": e.Params.UserID, "first": shopdata.OrdersPerRegular}
	},
	func(data struct {
		Page struct {
			Items []graphql.Order `json:"items"`
		} `json:"ordersByUser"`
	}, _ Params) (Answer, error) {
		return newOrderListAnswer(shop.Mapped(data.Page.Items, graphql.Order.Canonical)), nil
	},
)
