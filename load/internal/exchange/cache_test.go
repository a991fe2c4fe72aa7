package exchange

import (
	"bytes"
	"net/http"
	"testing"

	"hopwise/load/internal/target"
	"hopwise/load/tests/shoptest"
)

// An answer that has not changed comes from the cache, and its bytes do not cross the wire; one that has changed comes whole. What is
// public serves everybody, what is not its own reader alone.
func TestUnchangedAnswersComeFromTheCache(t *testing.T) {
	shop := shoptest.Start(t)
	shop.Tags = true
	client, err := NewClient(shop.Target(t, target.RESTServices, 2), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	cache := NewCache()
	price := 0
	shop.Bend = func(answer map[string]any) { answer["bent"] = price }
	get := func(path, token string) (answer Response, x *Exchange) {
		x = Untraced(client.At(shop.URL))
		x.Keep(cache)
		answer, err := x.Do(t.Context(), Request{Method: http.MethodGet, Route: path, Path: path, Token: token})
		if err != nil || answer.Status != http.StatusOK {
			t.Fatalf("%s: %d, %v", path, answer.Status, err)
		}
		return answer, x
	}
	const product, user = "/v1/products/7", "/v1/users/7"
	for _, step := range []struct {
		path, token string
		price       int
		status      int
	}{
		{product, "", 0, http.StatusOK},
		{product, "", 0, http.StatusNotModified},
		{product, "fake-token-8", 0, http.StatusNotModified},
		{product, "", 1, http.StatusOK}, // as after a write
		{product, "", 1, http.StatusNotModified},
		{user, "fake-token-7", 1, http.StatusOK},
		{user, "fake-token-7", 1, http.StatusNotModified},
		{user, "fake-token-7-again", 1, http.StatusOK},
	} {
		price = step.price
		answer, x := get(step.path, step.token)
		if x.Status() != step.status || (x.Sizes().In > 0) != (step.status == http.StatusOK) {
			t.Errorf("%+v: status %d, %+v", step, x.Status(), x.Sizes())
		}
		uncached, err := Untraced(client.At(shop.URL)).Do(t.Context(), Request{Method: http.MethodGet, Route: step.path, Path: step.path, Token: step.token})
		if err != nil || !bytes.Equal(uncached.Body, answer.Body) || uncached.Type != answer.Type {
			t.Errorf("%+v: %s instead of %s, %v", step, answer.Body, uncached.Body, err)
		}
	}
	if n := cache.NotModified(); n != 4 {
		t.Errorf("%d of 8 answers were not modified", n)
	}
}
