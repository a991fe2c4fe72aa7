package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"

	"hopwise/proto/stubs/productv1"
	"hopwise/proto/stubs/userv1"
	"hopwise/services/internal/access"
	"hopwise/services/internal/config"
	"hopwise/services/internal/guard"
	"hopwise/services/internal/peer"
	"hopwise/services/internal/shoperr"
)

const (
	giveUp   = 10 * time.Second       // after which a test fails instead of waiting longer
	patience = 500 * time.Millisecond // in which a server surely notices that its client has left

	products = "{ products(first: 100) { edges { node { id } } } }"
)

// late records how its only call ends: by its context, or by an answer.
type late struct {
	isAsked chan struct{}
	ended   chan error
}

func (l late) answerAfter(ctx context.Context, wait time.Duration) {
	close(l.isAsked)
	select {
	case <-ctx.Done():
		l.ended <- ctx.Err()
	case <-time.After(wait):
		l.ended <- nil
	}
}

// lateProducts answers a call for products only after its context has ended.
type lateProducts struct {
	productv1.ProductServiceClient
	late
}

func (l lateProducts) ListProducts(
	ctx context.Context, asked *productv1.ListProductsRequest, _ ...grpc.CallOption,
) (*productv1.ListProductsResponse, error) {
	l.answerAfter(ctx, giveUp)
	products := make([]*productv1.Product, asked.PageSize)
	for place := range products {
		products[place] = &productv1.Product{Id: int64(place + 1)}
	}
	return &productv1.ListProductsResponse{Products: products}, nil
}

// lateUsers answers a login only when its client has left.
type lateUsers struct {
	userv1.UserServiceClient
	late
}

func (l lateUsers) Login(ctx context.Context, _ *userv1.LoginRequest, _ ...grpc.CallOption) (*userv1.LoginResponse, error) {
	l.answerAfter(ctx, patience)
	return &userv1.LoginResponse{}, nil
}

// awaitEnd returns how the call ended; nil if it was answered before its context ended.
func (l late) awaitEnd() error {
	select {
	case err := <-l.ended:
		return err
	case <-time.After(giveUp):
		return errors.New("nobody has called")
	}
}

// startLate serves a gateway over late services, and returns its address.
func startLate(t *testing.T) (late, string) {
	t.Helper()
	l := late{isAsked: make(chan struct{}), ended: make(chan error, 1)}
	authenticator, err := access.New(config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	services := &peer.Services{Product: lateProducts{late: l}, User: lateUsers{late: l}}
	server := httptest.NewServer(New(services, authenticator, config.Config{}, noop.NewTracerProvider()))
	t.Cleanup(server.Close)
	return l, server.URL + route
}

func newRequest(t *testing.T, ctx context.Context, url, document string) *http.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 2*giveUp)
	t.Cleanup(cancel)
	text, err := json.Marshal(graphql.RawParams{Query: document})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", mediaJSON)
	return request
}

func TestAnExecutionStopsAtItsDeadline(t *testing.T) {
	late, url := startLate(t)
	query := newRequest(t, t.Context(), url, products)
	query.Header.Set(guard.DeadlineHeader, "100")
	answer, err := http.DefaultClient.Do(query)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if ended := late.awaitEnd(); !errors.Is(ended, context.DeadlineExceeded) {
		t.Errorf("the call ended by: %v", ended)
	}
	// Products that arrive after the deadline are not completed.
	if !strings.Contains(string(text), string(shoperr.DeadlineExceeded)) || strings.Contains(string(text), "node") {
		t.Errorf("got %.200s", text)
	}
}

// abandon returns how the call of a document ends whose client leaves as soon as the call has begun.
func abandon(t *testing.T, document string) error {
	t.Helper()
	late, url := startLate(t)
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		select {
		case <-late.isAsked:
		case <-t.Context().Done():
		}
		leave()
	}()
	answer, err := http.DefaultClient.Do(newRequest(t, ctx, url, document))
	if err == nil {
		answer.Body.Close()
		t.Fatal("the client got an answer")
	}
	return late.awaitEnd()
}

func TestAQueryStopsWhenItsClientHasGone(t *testing.T) {
	if ended := abandon(t, products); !errors.Is(ended, context.Canceled) {
		t.Errorf("the call ended by: %v", ended)
	}
}

func TestAMutationContinuesWhenItsClientHasGone(t *testing.T) {
	if ended := abandon(t, `mutation { login(input: {email: "", password: ""}) { token } }`); ended != nil {
		t.Errorf("the call ended by: %v", ended)
	}
}
