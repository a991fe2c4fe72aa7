package pagetoken_test

import (
	"errors"
	"math"
	"testing"

	"hopwise/services/internal/pagetoken"
	"hopwise/services/internal/shoperr"
)

var key = []byte("hopwise page tokens") // the default of SHOP_PAGE_TOKEN_KEY

func TestTokenStandsForItsID(t *testing.T) {
	for _, after := range []int64{0, 1, 4711, math.MaxInt64} {
		token := pagetoken.Encode(key, "ListProducts:tea", after)
		if got, err := pagetoken.Decode(key, "ListProducts:tea", token); err != nil || got != after {
			t.Errorf("Decode(Encode(%d)) = %d, %v", after, got, err)
		}
	}
	if after, err := pagetoken.Decode(key, "ListProducts:", ""); after != 0 || err != nil {
		t.Errorf("the first page begins behind %d, %v", after, err)
	}
}

// Other implementations of the shop make the same tokens.
func TestTokenIsTheSameAsThePythonShops(t *testing.T) {
	const want = "AAAAAAAAEmfV5-eZlwuwA-ErfSQ"
	if got := pagetoken.Encode(key, "ListProducts:c0042", 4711); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOtherTokensAreRefused(t *testing.T) {
	good := pagetoken.Encode(key, "ListProducts:tea", 4711)
	refused := map[string]struct {
		scope, token string
		key          []byte
	}{
		"of another filter":    {"ListProducts:pots", good, key},
		"of another key":       {"ListProducts:tea", good, []byte("other")},
		"with a changed id":    {"ListProducts:tea", "B" + good[1:], key},
		"with other last bits": {"ListProducts:tea", good[:len(good)-1] + "9", key},
		"cut off":              {"ListProducts:tea", good[:len(good)-1], key},
		"with padding":         {"ListProducts:tea", good + "=", key},
		"no base64":            {"ListProducts:tea", "%%%", key},
		"of some other kind":   {"ListProducts:tea", "ünsinn", key},
	}
	for name, one := range refused {
		t.Run(name, func(t *testing.T) {
			_, err := pagetoken.Decode(one.key, one.scope, one.token)
			failure := new(shoperr.Error)
			if !errors.As(err, &failure) || failure.Code != shoperr.InvalidPageToken || failure.Field != "page_token" {
				t.Errorf("got %v", err)
			}
		})
	}
}
