package shoptest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"hopwise/load/internal/shopdata"
)

func money(minor int64) object { return object{"amount_minor": minor, "currency": "EUR"} }

func (s *Shop) rest(r *http.Request, seen Seen) (int, object) {
	query := r.URL.Query()
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	id := int64(0)
	if len(parts) > 1 {
		id, _ = strconv.ParseInt(parts[1], 10, 64)
	}
	var body struct {
		Email   string            `json:"email"`
		Address map[string]string `json:"address"`
		Lines   []struct {
			ProductID int64 `json:"product_id"`
			Quantity  int64 `json:"quantity"`
		} `json:"lines"`
		UserID int64 `json:"user_id"`
	}
	_ = json.Unmarshal(seen.Body, &body)
	switch route := r.Method + " " + parts[0]; {
	case route == "GET products" && id > 0:
		return http.StatusOK, restProduct(id, query.Get("include") == "reviews")
	case route == "GET products" && query.Has("ids"):
		return http.StatusOK, object{"products": mapped(numbersOf(query.Get("ids")), func(id int64) object { return restProduct(id, false) })}
	case route == "GET products":
		ids := productsOf(query.Get("category"), shopdata.BrowsePage)
		return http.StatusOK, object{"products": mapped(ids, func(id int64) object { return restProduct(id, query.Get("include") == "reviews") }), "next_page_token": ""}
	case route == "GET documents":
		return http.StatusOK, asObject(documentOf(id))
	case route == "POST sessions":
		user := userOf(body.Email)
		return http.StatusCreated, object{"token": "fake-token-" + strconv.FormatInt(user, 10), "user": restUser(user)}
	case route == "GET users" && len(parts) == 3:
		ids := scale.OrdersOfRegular(id)
		return http.StatusOK, object{"orders": mapped(ids[:], func(order int64) object {
			return restOrder(order, id, linesOf(order), query.Get("include"))
		})}
	case route == "GET users":
		return http.StatusOK, restUser(id)
	case route == "PATCH users":
		user := restUser(id)
		user["address"] = body.Address
		return http.StatusOK, user
	case route == "POST orders":
		var lines [][2]int64
		for _, line := range body.Lines {
			lines = append(lines, [2]int64{line.ProductID, line.Quantity})
		}
		order := restOrder(10000+s.orders.Add(1), body.UserID, lines, "")
		order["status"] = "CONFIRMED"
		return http.StatusCreated, order
	case route == "GET orders":
		return http.StatusOK, restOrder(id, 1, linesOf(id), query.Get("include"))
	case route == "GET payments":
		return http.StatusOK, object{"payments": mapped(numbersOf(query.Get("order_ids")), restPayment)}
	case route == "GET order-lines":
		after, _ := strconv.ParseInt(query.Get("after_line_id"), 10, 64)
		return http.StatusOK, object{"lines": mapped(page(after), restBulkLine), "next_page_token": "x"}
	}
	return http.StatusNotFound, object{"code": "NOT_FOUND", "title": "no such route"}
}

func asObject(value any) (made object) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &made)
	}
	if err != nil {
		panic(err) // the fake's own values
	}
	return made
}

func page(after int64) []int64 {
	var ids []int64
	for id := after + 1; id <= after+shopdata.BulkPage; id++ {
		ids = append(ids, id)
	}
	return ids
}

func restProduct(id int64, reviews bool) object {
	p := object{
		"id": id, "title": titleOf(id), "description": "Described", "category": shopdata.CategoryOf(id),
		"price": money(priceOf(id)), "stock": 1000 + id,
	}
	if reviews {
		ids := shopdata.ReviewIDs(id)
		p["reviews"] = mapped(ids[:], func(review int64) object {
			return object{"id": review, "rating": 1 + review%5, "title": "Good", "body": "Very"}
		})
	}
	return p
}

func restUser(id int64) object {
	a := addressOf(id)
	return object{"id": id, "email": shopdata.Email(id), "name": "Name", "address": object{
		"recipient": a[0], "street": a[1], "city": a[2], "postal_code": a[3], "country_code": a[4],
	}}
}

func restOrder(id, user int64, lines [][2]int64, include string) object {
	order := object{
		"id": id, "user_id": user, "status": "SHIPPED", "placed_at": placedAt, "total": money(totalOf(lines)),
		"lines": func() (all []object) {
			for i, line := range lines {
				all = append(all, object{
					"id": id*10 + int64(i), "line_number": i + 1, "product_id": line[0], "quantity": line[1], "unit_price": money(priceOf(line[0])),
				})
			}
			return all
		}(),
	}
	if strings.Contains(include, "products") {
		order["products"] = mapped([]int64{lines[0][0], lines[1][0]}, func(id int64) object { return restProduct(id, false) })
	}
	if strings.Contains(include, "payment") {
		order["payment"] = object{"id": id, "order_id": id, "status": "CAPTURED", "amount": money(totalOf(lines))}
	}
	return order
}

func restPayment(order int64) object {
	return object{"id": order, "order_id": order, "status": "CAPTURED", "amount": money(totalOf(linesOf(order)))}
}

func restBulkLine(id int64) object {
	return object{
		"id": id, "order_id": orderOfLine(id), "user_id": 5, "status": "DELIVERED", "placed_at": placedAt,
		"product_id": id%8000 + 1, "quantity": 1, "unit_price": money(priceOf(id%8000 + 1)),
	}
}

func numbersOf(list string) []int64 {
	var ids []int64
	for text := range strings.SplitSeq(list, ",") {
		id, _ := strconv.ParseInt(text, 10, 64)
		ids = append(ids, id)
	}
	return ids
}
