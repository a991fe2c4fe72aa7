package session

import (
	"crypto"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"hopwise/load/internal/journey"
	"hopwise/load/internal/target"
	"hopwise/load/tests/shoptest"
)

// Tokens have the claims that the shop checks, and are signed with the target's key.
func TestTokens(t *testing.T) {
	key, err := ReadKey(shoptest.WriteKey(t))
	if err != nil {
		t.Fatal(err)
	}
	entries := []journey.Entry{
		{Journey: journey.OrderHistory, Channel: target.Web, Params: journey.Params{UserID: 17}},
		{Journey: journey.Checkout, Channel: target.Partner, Params: journey.Params{UserID: 18}},
		{Journey: journey.Login, Channel: target.Mobile, Params: journey.Params{UserID: 19}},
		{Journey: journey.Browse, Channel: target.Web},
	}
	sessions, err := Open(key, entries, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	want := []struct{ subject, role string }{{"users/17", "customer"}, {"partners/1", "partner"}, {}, {}}
	for i, entry := range entries {
		token := sessions.Token(entry)
		if want[i].subject == "" {
			if token != "" {
				t.Errorf("%s has a token before it needs one", entry.Journey)
			}
			continue
		}
		public := key.(crypto.Signer).Public().(ed25519.PublicKey)
		parsed, err := jwt.Parse(token, func(*jwt.Token) (any, error) { return public, nil },
			jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithIssuer("hopwise"), jwt.WithExpirationRequired(), jwt.WithIssuedAt())
		if err != nil {
			t.Fatal(err)
		}
		got := parsed.Claims.(jwt.MapClaims)
		if got["sub"] != want[i].subject || got["role"] != want[i].role {
			t.Errorf("%s: claims %v", entry.Journey, got)
		}
	}
}

func TestUnusableKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, []byte("not a key"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{path, filepath.Join(t.TempDir(), "none.pem")} {
		if _, err := ReadKey(bad); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("error is %v, expected one about %s", err, bad)
		}
	}
}
