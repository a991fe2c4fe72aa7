// Package access decides which caller may call which method.
//
// A service trusts internal calls, which its callers have checked already, and checks calls from the edge. Where
// callers have no identity, the edge marks each request with x-hopwise-edge, and overwrites this header if a client
// sent it. In a mesh with certificates, the caller's identity shows whether the caller is the edge, and a call without an
// identity is refused.
package access

import (
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"hopwise/proto/stubs/typev1"
	"hopwise/services/internal/config"
	"hopwise/services/internal/shoperr"
)

// Level says which callers a method admits.
type Level = typev1.Access

// Rules has the contract's rule for each call, by its full name, such as "/shop.product.v1.ProductService/GetProduct".
type Rules map[string]*typev1.CallRule

// RulesOf returns the rules of the calls in the given files of the contract.
func RulesOf(files ...protoreflect.FileDescriptor) Rules {
	rules := make(Rules)
	for _, file := range files {
		service := file.Services().Get(0)
		for i := range service.Methods().Len() {
			method := service.Methods().Get(i)
			rule, _ := proto.GetExtension(method.Options(), typev1.E_Call).(*typev1.CallRule)
			rules[fmt.Sprintf("/%s/%s", service.FullName(), method.Name())] = rule
		}
	}
	return rules
}

const (
	// EdgeMark is the header with which the edge marks all requests from outside; its value is the client's address.
	EdgeMark = "x-hopwise-edge"

	certificateHeader = "x-forwarded-client-cert"
	issuer            = "hopwise"
	customer          = "customer"
	partner           = "partner"
	maxKnownTokens    = 4_096
)

var (
	subject = regexp.MustCompile(`^(users|partners)/([1-9][0-9]{0,17})$`)
	// https://github.com/spiffe/spiffe/blob/main/standards/SPIFFE-ID.md#2-spiffe-identity
	spiffeID = regexp.MustCompile(`^(spiffe://[a-z0-9._-]+/)[a-zA-Z0-9._-]+(?:/[a-zA-Z0-9._-]+)*$`)
	pair     = regexp.MustCompile(`^[ \t]*([A-Za-z]+)=("(?:[^"\\]|\\.)*"|[^",;]*)([,;]|$)`)
)

// Authenticator identifies callers, and admits them to methods.
type Authenticator struct {
	key          ed25519.PublicKey // nil if no token is valid
	edgeIdentity string            // empty if callers have no identity
	trustDomain  string
	known        *lru.Cache[[sha256.Size]byte, Caller]
}

// New returns the authenticator of a service.
func New(c config.Config) (*Authenticator, error) {
	known, err := lru.New[[sha256.Size]byte, Caller](maxKnownTokens)
	if err != nil {
		return nil, err
	}
	a := &Authenticator{edgeIdentity: c.EdgeIdentity, trustDomain: trustDomain(c.EdgeIdentity), known: known}
	if c.PublicKeyFile != "" {
		key, err := publicKey(c.PublicKeyFile)
		if err != nil {
			return nil, config.Error(fmt.Sprintf("SHOP_JWT_PUBLIC_KEY_FILE is %q, which cannot be used (%v); "+
				"it must be an Ed25519 public key in PEM form", c.PublicKeyFile, err))
		}
		a.key = key
	}
	if c.EdgeIdentity != "" && a.trustDomain == "" {
		return nil, config.Error(fmt.Sprintf("SHOP_EDGE_IDENTITY is %q; valid: a SPIFFE ID, "+
			"as spiffe://cluster.local/ns/default/sa/edge", c.EdgeIdentity))
	}
	return a, nil
}

func publicKey(path string) (ed25519.PublicKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	read, err := jwt.ParseEdPublicKeyFromPEM(text)
	if err != nil {
		return nil, err
	}
	return read.(ed25519.PublicKey), nil // the type was checked by the function above
}

// Headers returns the values of a call's header or metadata with the given name, which is in lower case.
type Headers func(name string) []string

// Admit admits a call by its headers, or returns an error that says why not.
func (a *Authenticator) Admit(level Level, headers Headers) error {
	outside, err := a.isOutside(headers)
	if err != nil || !outside {
		return err
	}
	return Admit(level, func() (Caller, error) { return a.Authenticate(last(headers, "authorization")) })
}

// Admit admits a caller to a method with this level. It identifies the caller only if the level requires a token.
func Admit(level Level, identify func() (Caller, error)) error {
	switch level {
	case typev1.Access_ACCESS_EVERYBODY:
		return nil
	case typev1.Access_ACCESS_CALLER, typev1.Access_ACCESS_PARTNER:
	default:
		return shoperr.New(shoperr.PermissionDenied, "", "only the shop's own services may do this")
	}
	caller, err := identify()
	if err == nil && level == typev1.Access_ACCESS_PARTNER && !caller.IsPartner() {
		err = shoperr.New(shoperr.PermissionDenied, "", "this needs a partner's token")
	}
	return err
}

// RequireOrigin refuses a call if a header must identify the caller but does not.
func (a *Authenticator) RequireOrigin(headers Headers) error {
	_, err := a.isOutside(headers)
	return err
}

func (a *Authenticator) isOutside(headers Headers) (bool, error) {
	if a.edgeIdentity == "" {
		return len(headers(EdgeMark)) > 0, nil
	}
	identity := callerIdentity(last(headers, certificateHeader))
	if !strings.HasPrefix(identity, a.trustDomain) {
		return false, shoperr.New(shoperr.Unauthenticated, "",
			"the call comes without an identity; callers need a certificate of the mesh")
	}
	return identity == a.edgeIdentity, nil
}

// Authenticate returns the caller that a bearer token identifies; it caches tokens, because checking a signature takes
// longer than the rest of most requests.
func (a *Authenticator) Authenticate(authorization string) (Caller, error) {
	scheme, token, _ := strings.Cut(authorization, " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "bearer") || token == "" {
		return Caller{}, shoperr.New(shoperr.Unauthenticated, "", "this needs a token: send the header Authorization: Bearer <token>")
	}
	if a.key == nil {
		return Caller{}, shoperr.New(shoperr.Unauthenticated, "",
			"this service cannot verify tokens: SHOP_JWT_PUBLIC_KEY_FILE is not set")
	}
	digest := sha256.Sum256([]byte(token)) // the tokens themselves are not kept in memory
	if known, has := a.known.Get(digest); has && time.Now().Before(known.expires) {
		return known, nil
	}
	caller, err := a.verify(token)
	if err == nil {
		a.known.Add(digest, caller)
	}
	return caller, err
}

func (a *Authenticator) verify(token string) (Caller, error) {
	var claims struct {
		jwt.RegisteredClaims
		Role string `json:"role"`
	}
	// `iat` may be later than now, because the clock of the process that signs may be ahead of ours.
	_, err := jwt.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return a.key, nil },
		jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithIssuer(issuer), jwt.WithExpirationRequired())
	if errors.Is(err, jwt.ErrTokenExpired) {
		return Caller{}, shoperr.New(shoperr.Unauthenticated, "", "the token has expired; log in again")
	}
	of := subject.FindStringSubmatch(claims.Subject)
	collections := map[string]string{customer: "users", partner: "partners"}
	if err != nil || claims.IssuedAt == nil || of == nil || collections[claims.Role] != of[1] {
		return Caller{}, shoperr.New(shoperr.Unauthenticated, "", "the token is not valid; log in again")
	}
	id, err := strconv.ParseInt(of[2], 10, 64)
	return Caller{role: claims.Role, id: id, expires: claims.ExpiresAt.Time}, err
}

// callerIdentity returns the identity in the last element of x-forwarded-client-cert, which describes the caller of
// this service's sidecar. It is empty if the header is malformed, or if that element does not have exactly one
// identity.
func callerIdentity(header string) string {
	var uris []string
	for separator := ","; separator != ""; {
		found := pair.FindStringSubmatch(header)
		if found == nil {
			return ""
		}
		if separator == "," {
			uris = nil
		}
		if found[1] == "URI" {
			uris = append(uris, strings.Trim(found[2], `"`))
		}
		header, separator = header[len(found[0]):], found[3]
	}
	if len(uris) != 1 || trustDomain(uris[0]) == "" {
		return ""
	}
	return uris[0]
}

// trustDomain returns the prefix that all identities of a trust domain share; empty if the text is not a SPIFFE ID.
func trustDomain(identity string) string {
	parts := spiffeID.FindStringSubmatch(identity)
	if parts == nil {
		return ""
	}
	return parts[1]
}

func last(headers Headers, name string) string {
	values := headers(name)
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}
