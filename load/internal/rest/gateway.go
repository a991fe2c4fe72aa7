package rest

import (
	"context"
	"net/url"

	"hopwise/load/internal/shop"
)

// Gateway reaches the shop through the REST gateway: the services' APIs, but orders come with products and payments.
type Gateway struct{ Services }

var _ shop.Joining = Gateway{}

type joinedOrder struct {
	shop.Order
	Payment  shop.Payment   `json:"payment"`
	Products []shop.Product `json:"products"`
}

func (j joinedOrder) order() shop.Order {
	titles := map[int64]string{}
	for _, p := range j.Products {
		titles[p.ID] = p.Title
	}
	j.Order.Join(titles, []shop.Payment{j.Payment})
	return j.Order
}

func (g Gateway) ListJoinedOrders(ctx context.Context, user int64) ([]shop.Order, error) {
	query := latestOrders()
	query.Set("include", "payment,products")
	page, err := Get[struct {
		Orders []joinedOrder `json:"orders"`
	}](ctx, g.Client, "/v1/users/{id}/orders", user, query)
	return shop.Mapped(page.Orders, joinedOrder.order), err
}

func (g Gateway) GetOrder(ctx context.Context, id int64) (shop.Order, error) {
	joined, err := Get[joinedOrder](ctx, g.Client, "/v1/orders/{id}", id, url.Values{"include": {"payment"}})
	return joined.order(), err
}
