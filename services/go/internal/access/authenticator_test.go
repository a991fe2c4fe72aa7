package access

import (
	"crypto/ed25519"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const edge = "spiffe://cluster.local/ns/default/sa/edge"

func TestCallerIdentity(t *testing.T) {
	for header, want := range map[string]string{
		"URI=" + edge: edge,
		`Hash=00;Subject="CN=a,b;c";URI="` + edge + `"`: edge,
		"URI=spiffe://x/a,By=y;URI=" + edge:             edge,
		"URI=" + edge + ",Hash=00":                      "",
		"URI=" + edge + ";URI=" + edge:                  "",
		"URI=" + edge + ",":                             "",
		`Subject="URI=` + edge + `"`:                    "",
		"URI=https://cluster.local/a":                   "",
		"":                                              "",
		"nonsense":                                      "",
		`Subject="unfinished;URI=` + edge:               "",
		`Subject="a\";URI=` + edge + `;x=\"";URI=spiffe://other.org/ns/a`: "spiffe://other.org/ns/a",
	} {
		if got := callerIdentity(header); got != want {
			t.Errorf("%s: got %q, want %q", header, got, want)
		}
	}
}

func TestTheClockThatSignsMayBeAhead(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	issued := time.Now().Add(time.Minute)
	claims := jwt.MapClaims{
		"iss": issuer, "sub": "users/17", "role": customer, "iat": issued.Unix(), "exp": issued.Add(time.Hour).Unix(),
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims).SignedString(private)
	if err != nil {
		t.Fatal(err)
	}
	if caller, err := (&Authenticator{key: public}).verify(token); err != nil || caller.id != 17 {
		t.Errorf("got %+v, %v", caller, err)
	}
}
