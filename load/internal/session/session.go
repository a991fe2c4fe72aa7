// Package session gives simulated customers and partners the sessions that they have at the start of the load.
//
// Customers log in once and then send many requests, so every journey except login starts with a valid token. The
// tokens are signed here with the shop's own test key before the load; the login journey really logs in.
package session

import (
	"crypto"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"hopwise/load/internal/journey"
	"hopwise/load/internal/shopdata"
	"hopwise/load/internal/target"
)

const (
	issuer   = "hopwise"
	lifetime = 24 * time.Hour
	// backdated is how long before now tokens become valid, for verifiers whose clocks are slightly behind.
	backdated = time.Minute
)

type claims struct {
	Role string `json:"role"`
	jwt.RegisteredClaims
}

// Sessions holds a token for each simulated user, and the partner's token.
type Sessions struct {
	partner string
	users   map[int64]string
}

// ReadKey reads an Ed25519 private key in PEM form.
func ReadKey(path string) (crypto.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("jwt_private_key: %w", err)
	}
	key, err := jwt.ParseEdPrivateKeyFromPEM(text)
	if err != nil {
		return nil, fmt.Errorf("jwt_private_key %s: %w", path, err)
	}
	return key, nil
}

// Open signs a token for every user on the tape that needs one.
func Open(key crypto.PrivateKey, entries []journey.Entry, now time.Time) (*Sessions, error) {
	s := &Sessions{users: map[int64]string{}}
	var err error
	if s.partner, err = sign(key, "partners/"+strconv.Itoa(shopdata.PartnerID), "partner", now); err != nil {
		return nil, err
	}
	for _, entry := range entries {
		user := entry.Params.UserID
		if s.users[user] != "" || !asCustomer(entry) {
			continue
		}
		if s.users[user], err = Customer(key, user, now); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func Customer(key crypto.PrivateKey, user int64, now time.Time) (string, error) {
	return sign(key, "users/"+strconv.FormatInt(user, 10), "customer", now)
}

func asCustomer(e journey.Entry) bool {
	return e.Channel != target.Partner && e.Params.UserID > 0 && e.Journey != journey.Login
}

func sign(key crypto.PrivateKey, subject, role string, now time.Time) (string, error) {
	return jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{role, jwt.RegisteredClaims{
		Issuer:    issuer,
		Subject:   subject,
		IssuedAt:  jwt.NewNumericDate(now.Add(-backdated)),
		ExpiresAt: jwt.NewNumericDate(now.Add(lifetime)),
	}}).SignedString(key)
}

// Token returns the token of a journey; empty for visitors, who need no token.
func (s *Sessions) Token(e journey.Entry) string {
	switch {
	case s == nil: // a target other than the shop
	case e.Channel == target.Partner:
		return s.partner
	case asCustomer(e):
		return s.users[e.Params.UserID]
	}
	return ""
}
