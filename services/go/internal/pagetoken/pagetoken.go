// Package pagetoken makes page tokens that clients cannot forge, bound to the call and the filter that issued them.
//
// A token is the base64url form of the last id of the previous page (8 bytes), and the first 12 bytes of the
// HMAC-SHA256 of that id with a scope. All implementations of the shop use this form, so each implementation accepts
// the tokens of the others.
package pagetoken

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"

	"hopwise/services/internal/shoperr"
)

const (
	idBytes  = 8
	macBytes = 12
)

// Encode makes the token of the page that starts after an id; the scope is the call and its filter, such as
// "ListProducts:c0042".
func Encode(key []byte, scope string, after int64) string {
	body := binary.BigEndian.AppendUint64(nil, uint64(after))
	mac := hmac.New(sha256.New, key)
	mac.Write(body)
	mac.Write([]byte(scope))
	return base64.RawURLEncoding.EncodeToString(append(body, mac.Sum(nil)[:macBytes]...))
}

// Decode returns the id that a token stands for; 0 for the empty token of the first page.
func Decode(key []byte, scope, token string) (int64, error) {
	if token == "" {
		return 0, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil && len(raw) == idBytes+macBytes {
		after := int64(binary.BigEndian.Uint64(raw))
		// Compared as text, because base64 has several texts for the same bytes.
		if subtle.ConstantTimeCompare([]byte(Encode(key, scope, after)), []byte(token)) == 1 {
			return after, nil
		}
	}
	return 0, shoperr.New(shoperr.InvalidPageToken, "page_token",
		"page_token must be the next_page_token of the page before, with the same filter")
}
