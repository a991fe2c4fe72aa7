package attack

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"hopwise/load/internal/journey"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/target"
	"hopwise/load/tests/shoptest"
)

type fault func(w http.ResponseWriter, r shoptest.Seen)

func text(status int, body string) fault {
	return func(w http.ResponseWriter, _ shoptest.Seen) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func page(body string) fault {
	return func(w http.ResponseWriter, _ shoptest.Seen) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(body))
	}
}

func graphQLError(status int, code string) fault {
	return func(w http.ResponseWriter, _ shoptest.Seen) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(shoptest.GraphQLError(code, "said the shop"))
	}
}

func truncated(w http.ResponseWriter, _ shoptest.Seen) {
	w.Header().Set("Content-Length", "1000")
	_, _ = w.Write([]byte(`{"data":{"product":{"id":`))
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func dropped(http.ResponseWriter, shoptest.Seen) { panic(http.ErrAbortHandler) }

func badGzip(w http.ResponseWriter, _ shoptest.Seen) {
	w.Header().Set("Content-Encoding", "gzip")
	_, _ = w.Write([]byte("this is not gzip"))
}

func slow(http.ResponseWriter, shoptest.Seen) { time.Sleep(400 * time.Millisecond) }

func slowBody(w http.ResponseWriter, _ shoptest.Seen) {
	_, _ = w.Write([]byte(`{"data":`))
	_ = http.NewResponseController(w).Flush()
	time.Sleep(400 * time.Millisecond)
}

// Every fault of a shop gets the right class, in both HTTP versions, and never counts as success.
func TestFaultyShop(t *testing.T) {
	cases := []struct {
		name     string
		protocol target.Protocol
		fault    fault
		class    outcome.Class
		says     string
	}{
		{"200 with an internal error", target.GraphQL, graphQLError(200, "INTERNAL"), outcome.Server, "INTERNAL: said the shop"},
		{"200 with an unavailable part", target.GraphQL, graphQLError(200, "UNAVAILABLE"), outcome.Server, "UNAVAILABLE"},
		{"200 with a passed deadline", target.GraphQL, graphQLError(200, "DEADLINE_EXCEEDED"), outcome.Timeout, "DEADLINE_EXCEEDED"},
		{"200 with a refusal", target.GraphQL, graphQLError(200, "NOT_FOUND"), outcome.Client, "NOT_FOUND"},
		{"200 with an error without a code", target.GraphQL, text(200, `{"errors":[{"message":"x"}]}`), outcome.Client, "no code"},
		{"a hash that never registers", target.GraphQL, graphQLError(200, "PERSISTED_QUERY_NOT_FOUND"), outcome.Client, "PERSISTED_QUERY"},
		{"an error with another status", target.GraphQL, graphQLError(503, "UNAVAILABLE"), outcome.Server, "UNAVAILABLE"},
		{"status 500 with an unknown code", target.GraphQL, graphQLError(500, "BROKEN"), outcome.Server, "BROKEN"},
		{"data beside an error", target.GraphQL, text(200, `{"data":{"product":null},"errors":[{"message":"x","extensions":{"code":"INTERNAL"}}]}`), outcome.Server, "INTERNAL"},
		{"neither data nor errors", target.GraphQL, text(200, `{}`), outcome.WrongAnswer, "neither data nor errors"},
		{"null data and no errors", target.GraphQL, text(200, `{"data":null,"errors":[]}`), outcome.WrongAnswer, "neither data nor errors"},
		{"errors that are no list", target.GraphQL, text(200, `{"data":{"product":{}},"errors":{}}`), outcome.WrongAnswer, "not the JSON asked for"},
		{"null data", target.GraphQL, text(200, `{"data":null}`), outcome.WrongAnswer, "neither data nor errors"},
		{"no product", target.GraphQL, text(200, `{"data":{"product":null}}`), outcome.WrongAnswer, "the answer has no"},
		{"another shape", target.GraphQL, text(200, `{"data":{"product":[1]}}`), outcome.WrongAnswer, "not the JSON asked for"},
		{"an id of this program's making", target.GraphQL, text(200, `{"data":{"product":{"id":"%%"}}}`), outcome.WrongAnswer, "not a global identifier"},
		{"a page of HTML", target.GraphQL, text(200, `<html>`), outcome.WrongAnswer, "not the JSON asked for"},
		{"no body", target.GraphQL, text(200, ``), outcome.WrongAnswer, "not the JSON asked for"},
		{"half a JSON", target.GraphQL, text(200, `{"data":{"product":{"id":`), outcome.WrongAnswer, "not the JSON asked for"},
		{"an answer as a page", target.GraphQL, page(`{"data":{"product":{}}}`), outcome.WrongAnswer, `"text/html" instead of JSON`},
		{"a body cut off", target.GraphQL, truncated, outcome.WrongAnswer, "breaks off"},
		{"bytes that are no gzip", target.GraphQL, badGzip, outcome.WrongAnswer, "cannot be decompressed"},
		{"a connection dropped", target.GraphQL, dropped, outcome.Server, "POST /graphql"},
		{"status 500 without JSON", target.GraphQL, text(500, "oops"), outcome.Server, "status 500"},
		{"the edge's time-out", target.GraphQL, graphQLError(504, "DEADLINE_EXCEEDED"), outcome.Timeout, "DEADLINE_EXCEEDED"},
		{"the edge's refusal", target.GraphQL, graphQLError(413, "RESOURCE_EXHAUSTED"), outcome.Client, "RESOURCE_EXHAUSTED"},
		{"a proxy's time-out", target.GraphQL, text(504, "upstream request timeout"), outcome.Timeout, "status 504"},
		{"too late", target.GraphQL, slow, outcome.Timeout, "no complete answer within the journey's limit of 200ms"},
		{"a body that never ends", target.GraphQL, slowBody, outcome.Timeout, "no complete answer within the journey's limit of 200ms"},

		{"status 500", target.REST, text(500, "oops"), outcome.Server, "status 500"},
		{"no route", target.REST, text(404, "nothing here"), outcome.Client, "status 404"},
		{"a problem of the shop", target.REST, text(503, `{"code":"UNAVAILABLE","title":"x","detail":"order is away"}`), outcome.Server, "UNAVAILABLE: order is away"},
		{"a problem with an unknown code", target.REST, text(500, `{"code":"BROKEN","title":"x"}`), outcome.Server, "BROKEN"},
		{"a problem of the client", target.REST, text(422, `{"code":"INVALID_ARGUMENT","title":"bad"}`), outcome.Client, "INVALID_ARGUMENT: bad"},
		{"a passed deadline", target.REST, text(504, `{"code":"DEADLINE_EXCEEDED","title":"late"}`), outcome.Timeout, "DEADLINE_EXCEEDED"},
		{"a redirection", target.REST, text(302, ""), outcome.Client, "status 302"},
		{"success of another kind", target.REST, text(204, ""), outcome.WrongAnswer, "status 204 instead of 200"},
		{"an empty object", target.REST, text(200, `{}`), outcome.WrongAnswer, "the answer has no category"},
		{"a page of HTML", target.REST, text(200, `<html>`), outcome.WrongAnswer, "not the JSON asked for"},
		{"an answer as a page", target.REST, page(`{"id":1}`), outcome.WrongAnswer, `"text/html" instead of JSON`},
		{"two answers in one", target.REST, text(200, `{}{}`), outcome.WrongAnswer, "not the JSON asked for"},
		{"a body cut off", target.REST, truncated, outcome.WrongAnswer, "breaks off"},
		{"too late", target.REST, slow, outcome.Timeout, "no complete answer within the journey's limit of 200ms"},
	}
	for _, c := range cases {
		for _, version := range []int{1, 2} {
			t.Run(string(c.protocol)+" "+c.name, func(t *testing.T) {
				t.Parallel()
				shop := shoptest.Start(t)
				shop.Fault = func(w http.ResponseWriter, r shoptest.Seen) bool { c.fault(w, r); return true }
				e := find(t, journey.Product)
				runner := newRunner(t, shop.Target(t, c.protocol, version), []journey.Entry{e})
				runner.Timeout = 200 * time.Millisecond
				row, canonical := runner.Run(context.Background(), e, time.Now(), false)
				if row.Outcome != c.class || !strings.Contains(row.Error, c.says) {
					t.Errorf("HTTP/%d: %s: %q; expected %s: %q", version, row.Outcome, row.Error, c.class, c.says)
				}
				if canonical != nil || row.AnswerSHA256 != "" {
					t.Errorf("HTTP/%d: a failure has an answer", version)
				}
			})
		}
	}
}

// Nothing listens: the request could not be sent.
func TestNoListener(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	shop := shoptest.Start(t)
	e := find(t, journey.Product)
	for _, protocol := range []target.Protocol{target.GraphQL, target.REST, target.RESTServices, target.GRPC} {
		at := shop.Target(t, protocol, 2)
		at.Entry[e.Channel] = target.Entry{Protocol: protocol, URL: "http://" + address}
		runner := newRunner(t, at, []journey.Entry{e})
		row, _ := runner.Run(context.Background(), e, time.Now(), false)
		if row.Outcome != outcome.Client || !strings.Contains(row.Error, "connection refused") {
			t.Errorf("%s: %s", row.Outcome, row.Error)
		}
		if err := runner.Prepare(context.Background(), []journey.Entry{e}); err == nil || !strings.Contains(err.Error(), address) {
			t.Errorf("preparing: %v", err)
		}
	}
}

// A well-formed wrong answer is detected, for each part that may be wrong.
func TestWrongAnswers(t *testing.T) {
	path := func(answer map[string]any, keys ...string) map[string]any {
		for _, key := range keys {
			answer, _ = answer[key].(map[string]any)
		}
		return answer
	}
	list := func(answer map[string]any, key string) []map[string]any {
		things, _ := answer[key].([]map[string]any)
		return things
	}
	cases := []struct {
		name     string
		journey  journey.Name
		protocol target.Protocol
		bend     func(map[string]any)
		says     string
	}{
		{"another product", journey.Product, target.REST, func(a map[string]any) { a["id"] = 1 }, "the answer is product 1 instead of"},
		{"a price missing", journey.Product, target.REST, func(a map[string]any) { delete(a, "price") }, "no price.amount_minor"},
		{"a null title", journey.Product, target.GraphQL, func(a map[string]any) { path(a, "data", "product")["title"] = nil }, "no title"},
		{"a thing of another kind", journey.Product, target.GraphQL, func(a map[string]any) { path(a, "data", "product")["id"] = "VXNlcjox" }, "no id"},
		{"too few products", journey.Browse, target.REST, func(a map[string]any) { a["products"] = list(a, "products")[:19] }, "19 products instead of 20"},
		{"a product twice", journey.Browse, target.REST, func(a map[string]any) { p := list(a, "products"); p[1] = p[0] }, "comes twice"},
		{"two reviews", journey.Browse, target.REST, func(a map[string]any) { p := list(a, "products")[3]; p["reviews"] = list(p, "reviews")[:2] }, "2 reviews instead of 3"},
		{"no products", journey.Browse, target.GraphQL, func(a map[string]any) { delete(path(a, "data", "products"), "edges") }, "0 products instead of 20"},
		{"a payment not included", journey.OrderHistory, target.REST, func(a map[string]any) { delete(list(a, "orders")[2], "payment") }, "no orders[2].payment_status"},
		{"a product not included", journey.OrderHistory, target.REST, func(a map[string]any) { delete(list(a, "orders")[2], "products") }, "no orders[2].lines[0].title"},
		{"nine orders", journey.OrderHistory, target.REST, func(a map[string]any) {
			if orders := list(a, "orders"); orders != nil {
				a["orders"] = orders[:9]
			}
		}, "9 orders instead of 10"},
		{"a payment missing", journey.OrderHistory, target.RESTServices, func(a map[string]any) {
			if payments := list(a, "payments"); payments != nil {
				a["payments"] = payments[1:]
			}
		}, "no orders[0].payment_status"},
		{"a product missing", journey.OrderHistory, target.RESTServices, func(a map[string]any) {
			if products := list(a, "products"); products != nil {
				a["products"] = products[1:]
			}
		}, ".title"},
		{"somebody else's history", journey.OrderHistory, target.GraphQL, func(a map[string]any) { path(a, "data", "me")["id"] = "VXNlcjox" }, "the history is that of user 1"},
		{"a total that does not add up", journey.Checkout, target.REST, func(a map[string]any) { path(a, "total")["amount_minor"] = 1 }, "the total is 1, the lines add up to"},
		{"a checkout left pending", journey.Checkout, target.GraphQL, func(a map[string]any) { path(a, "data", "checkout", "order")["status"] = "PENDING" }, "instead of CONFIRMED"},
		{"a line too few", journey.Checkout, target.REST, func(a map[string]any) { a["lines"] = list(a, "lines")[:0] }, "0 lines instead of"},
		{"another quantity", journey.Checkout, target.REST, func(a map[string]any) { list(a, "lines")[0]["quantity"] = 9 }, "line 1 is 9 of product"},
		{"the old address", journey.UpdateProfile, target.REST, func(a map[string]any) { path(a)["address"].(map[string]string)["city"] = "Atlantis" }, "another address"},
		{"no token", journey.Login, target.REST, func(a map[string]any) { delete(a, "token") }, "no token"},
		{"another user's profile", journey.Login, target.GraphQL, func(a map[string]any) {
			if me := path(a, "data", "me"); me != nil {
				me["id"] = "VXNlcjox"
			}
		}, "the answer is user 1 instead of"},
		{"an order without payment", journey.OrderStatus, target.REST, func(a map[string]any) { delete(a, "payment") }, "no payment.amount"},
		{"another amount paid", journey.OrderStatus, target.REST, func(a map[string]any) { path(a, "payment", "amount")["amount_minor"] = 1 }, "its payment is 1"},
		{"a status of no meaning", journey.OrderStatus, target.REST, func(a map[string]any) { a["status"] = "LOST" }, `unknown order status "LOST"`},
		{"a payment missing", journey.OrderStatus, target.RESTServices, func(a map[string]any) { delete(a, "payments") }, "no payment.amount"},
		{"a status of no meaning", journey.OrderStatus, target.RESTTranscoded, func(a map[string]any) {
			if a["status"] != nil {
				a["status"] = "ORDER_STATUS_LOST"
			}
		}, `unknown order status "LOST"`},
		{"a total without amount", journey.Checkout, target.RESTTranscoded, func(a map[string]any) { delete(path(a, "total"), "amount_minor") }, "no total.amount_minor"},
		{"a number for an id", journey.Checkout, target.RESTTranscoded, func(a map[string]any) { a["id"] = 5 }, "not the JSON asked for"},
		{"a line left out", journey.BulkLines, target.REST, func(a map[string]any) { lines := list(a, "lines"); a["lines"] = append(lines[:5:5], lines[6:]...) }, "999 lines instead of 1000"},
		{"lines out of order", journey.BulkLines, target.REST, func(a map[string]any) { lines := list(a, "lines"); lines[4], lines[5] = lines[5], lines[4] }, "place 5 is line"},
		{"a time of no format", journey.BulkLines, target.REST, func(a map[string]any) { list(a, "lines")[7]["placed_at"] = "yesterday" }, "no lines[7].placed_at"},
	}
	for _, c := range cases {
		t.Run(string(c.protocol)+" "+string(c.journey)+" "+c.name, func(t *testing.T) {
			t.Parallel()
			shop := shoptest.Start(t)
			e := find(t, c.journey)
			runner := prepare(t, shop.Target(t, c.protocol, 2), []journey.Entry{e})
			shop.Bend = c.bend
			row, _ := runner.Run(context.Background(), e, time.Now(), false)
			if row.Outcome != outcome.WrongAnswer || !strings.Contains(row.Error, c.says) {
				t.Errorf("%s: %q; expected wrong_answer: %q", row.Outcome, row.Error, c.says)
			}
		})
	}
}
