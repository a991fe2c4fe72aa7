package shoptest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"hopwise/load/internal/shopdata"
)

// rootField matches the root field of a document.
var rootField = regexp.MustCompile(`^(?:query|mutation|subscription) [^{]*\{\s*(?:answer: )?(\w+)`)

var (
	word      = regexp.MustCompile(`\w+`)
	arguments = regexp.MustCompile(`\([^)]*\)`)
)

// GraphQLError returns an answer with one error.
func GraphQLError(code, message string) map[string]any {
	return object{"data": nil, "errors": []object{{"message": message, "extensions": object{"code": code}}}}
}

func (s *Shop) graphQL(seen Seen) object {
	return s.resolved(seen, func(field string, variables object) object { return s.resolve(field, variables, subject(seen.Header)) })
}

func (s *Shop) resolved(seen Seen, resolve func(field string, variables object) object) object {
	var body struct {
		Query      string `json:"query"`
		Variables  map[string]any
		Extensions struct {
			PersistedQuery struct {
				SHA256Hash string `json:"sha256Hash"`
			} `json:"persistedQuery"`
		} `json:"extensions"`
	}
	sent := seen.Body
	if seen.Method == http.MethodGet {
		query, _ := url.ParseQuery(seen.Query)
		sent = []byte(`{"variables":` + query.Get("variables") + `,"extensions":` + query.Get("extensions") + `}`)
	}
	if err := json.Unmarshal(sent, &body); err != nil {
		return GraphQLError("INVALID_ARGUMENT", err.Error())
	}
	text, refused := s.document(body.Query, body.Extensions.PersistedQuery.SHA256Hash)
	if refused != nil {
		return refused
	}
	field := rootField.FindStringSubmatch(text)
	if field == nil {
		return GraphQLError("INVALID_ARGUMENT", "no field")
	}
	if strings.Contains(text, "!)") && body.Variables == nil {
		return GraphQLError("INVALID_ARGUMENT", "a variable is missing")
	}
	answer := resolve(field[1], body.Variables)
	answer["data"] = keepNamed(answer["data"], word.FindAllString(arguments.ReplaceAllString(text, ""), -1))
	return answer
}

// serviceGraphQL answers a document that is sent to a service directly; the document's aliases are the names in REST.
func (s *Shop) serviceGraphQL(service string, seen Seen) object {
	return s.resolved(seen, func(field string, variables object) object {
		answer := s.answerOf(service+"."+field, variables)
		if answer == nil {
			return GraphQLError("INVALID_ARGUMENT", "unknown field "+field+" of "+service)
		}
		return object{"data": object{"answer": answer}}
	})
}

func (s *Shop) answerOf(field string, variables object) any {
	number := func(name string) int64 {
		value, _ := variables[name].(float64)
		return int64(value)
	}
	numbers := func(name string) (all []int64) {
		for _, value := range variables[name].([]any) {
			all = append(all, int64(value.(float64)))
		}
		return all
	}
	products := func(reviews bool) object {
		ids := productsOf(fmt.Sprint(variables["category"]), shopdata.BrowsePage)
		return object{"products": mapped(ids, func(id int64) object { return restProduct(id, reviews) })}
	}
	switch field {
	case "product.productPage":
		return products(false)
	case "product.productPageWithReviews":
		return products(true)
	case "product.reviews":
		return []object{{"reviews": restProduct(number("id"), true)["reviews"]}}
	case "product.product":
		return restProduct(number("id"), false)
	case "product.products":
		return mapped(numbers("ids"), func(id int64) object { return restProduct(id, false) })
	case "product.document":
		return asObject(documentOf(number("id")))
	case "user.login":
		user := userOf(fmt.Sprint(variables["email"]))
		return object{"token": "fake-token-" + strconv.FormatInt(user, 10), "user": restUser(user)}
	case "user.user":
		return restUser(number("id"))
	case "user.updateUser":
		sent := variables["address"].(object)
		user := restUser(number("id"))
		user["address"] = object{
			"recipient": sent["recipient"], "street": sent["street"], "city": sent["city"], "postal_code": sent["postalCode"],
			"country_code": sent["countryCode"],
		}
		return user
	case "order.ordersByUser":
		ids := scale.OrdersOfRegular(number("userId"))
		return object{"items": mapped(ids[:], func(order int64) object { return restOrder(order, number("userId"), linesOf(order), "") })}
	case "order.order":
		return restOrder(number("id"), 1, linesOf(number("id")), "")
	case "order.checkout":
		var lines [][2]int64
		for _, line := range variables["lines"].([]any) {
			lines = append(lines, [2]int64{int64(line.(object)["productId"].(float64)), int64(line.(object)["quantity"].(float64))})
		}
		order := restOrder(10000+s.orders.Add(1), number("userId"), lines, "")
		order["status"] = "CONFIRMED"
		return order
	case "order.orderLines":
		return mapped(page(number("afterLineId")), restBulkLine)
	case "payment.paymentsByOrder":
		return mapped(numbers("orderIds"), restPayment)
	}
	return nil
}

func (s *Shop) document(text, hash string) (string, object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == "" {
		if s.persisted[hash] == "" {
			return "", GraphQLError("PERSISTED_QUERY_NOT_FOUND", "send the text")
		}
		return s.persisted[hash], nil
	}
	if hash == "" {
		return text, nil
	}
	if sum := sha256.Sum256([]byte(text)); hash != hex.EncodeToString(sum[:]) {
		return "", GraphQLError("INVALID_ARGUMENT", "the hash is not the text's")
	}
	s.persisted[hash] = text
	return text, nil
}

func (s *Shop) resolve(field string, variables object, user int64) object {
	id := func(variable string) int64 {
		_, number := split(fmt.Sprint(variables[variable]))
		return number
	}
	data := func(value any) object { return object{"data": object{field: value}} }
	if user == 0 && (field == "me" || field == "notifications") {
		return GraphQLError("UNAUTHENTICATED", "log in")
	}
	switch field {
	case "products":
		return data(connection(productsOf(fmt.Sprint(variables["category"]), shopdata.BrowsePage), graphProduct))
	case "notifications":
		return data(mapped(s.newsOf(user), news.graph))
	case "product":
		return data(graphProduct(id("id")))
	case "document":
		return data(graphDocument(id("id")))
	case "login":
		return data(object{"token": "fake-token-" + strconv.FormatInt(userOf(fmt.Sprint(variables["email"])), 10)})
	case "me":
		ids := scale.OrdersOfRegular(user)
		return data(object{
			"id": globalID("User", user), "email": shopdata.Email(user), "name": "Name",
			"orders": connection(ids[:], func(order int64) object { return graphOrder(order, linesOf(order)) }),
		})
	case "checkout":
		var lines [][2]int64
		for _, line := range variables["input"].(object)["lines"].([]any) {
			_, product := split(line.(object)["productId"].(string))
			lines = append(lines, [2]int64{product, int64(line.(object)["quantity"].(float64))})
		}
		order := graphOrder(10000+s.orders.Add(1), lines)
		order["status"] = "CONFIRMED"
		return data(object{"order": order})
	case "updateProfile":
		return data(object{"user": object{"id": globalID("User", user), "address": variables["address"]}})
	case "order":
		return data(graphOrder(id("id"), linesOf(id("id"))))
	case "orderLines":
		return data(connection(page(id("after")), func(line int64) object {
			product := line%8000 + 1
			return object{
				"id": globalID("OrderLine", line), "quantity": 1, "unitPrice": graphMoney(priceOf(product)),
				"product": object{"id": globalID("Product", product)},
				"order": object{
					"id": globalID("Order", orderOfLine(line)), "status": "DELIVERED", "placedAt": placedAt,
					"user": object{"id": globalID("User", 5)},
				},
			}
		}))
	}
	return GraphQLError("INVALID_ARGUMENT", "unknown field "+field)
}

func graphMoney(minor int64) object { return object{"amountMinor": minor, "currency": "EUR"} }

func graphProduct(id int64) object {
	reviews := shopdata.ReviewIDs(id)
	return object{
		"id": globalID("Product", id), "title": titleOf(id), "description": "Described", "category": shopdata.CategoryOf(id),
		"price": graphMoney(priceOf(id)), "stock": 1000 + id,
		"reviews": mapped(reviews[:], func(review int64) object {
			return object{"id": globalID("Review", review), "rating": 1 + review%5, "title": "Good"}
		}),
	}
}

func graphDocument(id int64) object {
	document := documentOf(id)
	records := []object{}
	for _, r := range document.Sections[0].Records {
		record := object{"text": r.Text, "count": r.Count, "value": r.Value, "ok": r.OK, "at": nil, "price": nil}
		if r.Price != nil {
			record["at"], record["price"] = r.At, graphMoney(r.Price.AmountMinor)
		}
		records = append(records, record)
	}
	return object{"id": globalID("Document", id), "sections": []object{{"title": document.Sections[0].Title, "records": records}}}
}

func graphOrder(id int64, lines [][2]int64) object {
	all := []object{}
	for i, line := range lines {
		all = append(all, object{
			"lineNumber": i + 1, "quantity": line[1], "unitPrice": graphMoney(priceOf(line[0])), "product": graphProduct(line[0]),
		})
	}
	return object{
		"id": globalID("Order", id), "status": "SHIPPED", "placedAt": placedAt, "total": graphMoney(totalOf(lines)), "lines": all,
		"payment": object{"status": "CAPTURED", "amount": graphMoney(totalOf(lines))},
	}
}

func connection(ids []int64, node func(int64) object) object {
	return object{"edges": mapped(ids, func(id int64) object { return object{"node": node(id)} })}
}

func globalID(kind string, id int64) string {
	return base64.StdEncoding.EncodeToString([]byte(kind + ":" + strconv.FormatInt(id, 10)))
}

func split(global string) (string, int64) {
	plain, _ := base64.StdEncoding.DecodeString(global)
	kind, digits, _ := strings.Cut(string(plain), ":")
	number, _ := strconv.ParseInt(digits, 10, 64)
	return kind, number
}
