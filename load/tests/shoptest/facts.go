package shoptest

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"hopwise/load/internal/jsonline"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
)

// scale is the scale of the fake shop's data.
const scale = shopdata.Scale(1)

const placedAt = "2025-03-04T05:06:07Z"

type object = map[string]any

func priceOf(product int64) int64 { return 100 + product%999 }

func titleOf(product int64) string { return fmt.Sprintf("Product %d <new> & grün", product) }

func addressOf(user int64) [5]string {
	return [5]string{fmt.Sprintf("User %d", user), "Lindenallee 1", "Berlin", "10115", "DE"}
}

// linesOf returns the product and the quantity in each line of a seeded order.
func linesOf(order int64) [][2]int64 {
	return [][2]int64{{order%8000 + 1, 2}, {(order+7)%8000 + 1, 1}}
}

func totalOf(lines [][2]int64) int64 {
	sum := int64(0)
	for _, line := range lines {
		sum += line[1] * priceOf(line[0])
	}
	return sum
}

func productsOf(category string, count int64) []int64 {
	number, _ := strconv.ParseInt(strings.TrimPrefix(category, "c"), 10, 64)
	var ids []int64
	for id := number*shopdata.ProductsPerCategory + 1; int64(len(ids)) < count; id++ {
		ids = append(ids, id)
	}
	return ids
}

// keepNamed returns a value whose objects have only members with these names.
func keepNamed(value any, names []string) any {
	switch v := value.(type) {
	case object:
		kept := object{}
		for name, member := range v {
			if slices.Contains(names, name) {
				kept[name] = keepNamed(member, names)
			}
		}
		return kept
	case []object:
		return mapped(v, func(each object) object { return keepNamed(each, names).(object) })
	}
	return value
}

func userOf(email string) int64 {
	user, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(email, "user"), "@example.com"), 10, 64)
	return user
}

// documentOf returns the document with this id; the id determines its size. The document has a complete record,
// and a record without a time and a price, whose text fills the remaining size.
func documentOf(id int64) shop.Document {
	price := shop.Money{AmountMinor: priceOf(id), Currency: "EUR"}
	records := []shop.DocumentRecord{{Count: id, OK: false, Value: 0.5}}
	if shopdata.DocumentBytes(id) > 500 {
		records = append(records, shop.DocumentRecord{At: placedAt, Count: 2, OK: true, Price: &price, Text: "Tested <twice>", Value: 12.25})
	}
	document := shop.Document{ID: id, Sections: []shop.DocumentSection{{Records: records, Title: "Use"}}}
	text, _ := jsonline.Of(document)
	records[0].Text = strings.Repeat("x", int(shopdata.DocumentBytes(id))-len(text))
	return document
}

// orderOfLine returns the order to which a line of the bulk read belongs.
func orderOfLine(line int64) int64 { return line/3 + 1 }

// subject returns the number in a token's subject; the fake accepts tokens from its own login, and tokens signed by the
// client.
func subject(header http.Header) int64 {
	token := strings.TrimPrefix(header.Get("Authorization"), "Bearer ")
	if user, ok := strings.CutPrefix(token, "fake-token-"); ok {
		id, _ := strconv.ParseInt(user, 10, 64)
		return id
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return 0
	}
	claims, _ := base64.RawURLEncoding.DecodeString(parts[1])
	_, rest, _ := strings.Cut(string(claims), `"sub":"users/`)
	digits, _, _ := strings.Cut(rest, `"`)
	id, _ := strconv.ParseInt(digits, 10, 64)
	return id
}

func readAll(r *http.Request) []byte {
	body, _ := io.ReadAll(r.Body)
	return body
}
