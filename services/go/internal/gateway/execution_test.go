package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"

	"hopwise/proto/stubs/productv1"
	"hopwise/services/internal/access"
	"hopwise/services/internal/config"
	"hopwise/services/internal/guard"
	"hopwise/services/internal/peer"
	"hopwise/services/internal/shoperr"
)

const giveUp = 10 * time.Second // after which a test fails instead of waiting longer

// lateProducts answers a call for products only after its context has ended.
type lateProducts struct {
	productv1.ProductServiceClient
	isAsked chan struct{}
	ended   chan error
}

func (l lateProducts) ListProducts(
	ctx context.Context, asked *productv1.ListProductsRequest, _ ...grpc.CallOption,
) (*productv1.ListProductsResponse, error) {
	close(l.isAsked)
	select {
	case <-ctx.Done():
		l.ended <- ctx.Err()
	case <-time.After(giveUp):
		l.ended <- errors.New("the context has not ended")
	}
	products := make([]*productv1.Product, asked.PageSize)
	for place := range products {
		products[place] = &productv1.Product{Id: int64(place + 1)}
	}
	return &productv1.ListProductsResponse{Products: products}, nil
}

// awaitEnd returns how the call for products ended.
func (l lateProducts) awaitEnd() error {
	select {
	case err := <-l.ended:
		return err
	case <-time.After(giveUp):
		return errors.New("nobody asked for products")
	}
}

// startLate serves a gateway over lateProducts, and returns its address.
func startLate(t *testing.T) (lateProducts, string) {
	t.Helper()
	late := lateProducts{isAsked: make(chan struct{}), ended: make(chan error, 1)}
	authenticator, err := access.New(config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(New(&peer.Services{Product: late}, authenticator, config.Config{}, noop.NewTracerProvider()))
	t.Cleanup(server.Close)
	return late, server.URL + route
}

func newQuery(t *testing.T, ctx context.Context, url string) *http.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 2*giveUp)
	t.Cleanup(cancel)
	text := `{"query": "{ products(first: 100) { edges { node { id } } } }"}`
	query, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	query.Header.Set("Content-Type", mediaJSON)
	return query
}

func TestAnExecutionStopsAtItsDeadline(t *testing.T) {
	late, url := startLate(t)
	query := newQuery(t, t.Context(), url)
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

func TestAnExecutionStopsWhenItsClientHasGone(t *testing.T) {
	late, url := startLate(t)
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		select {
		case <-late.isAsked:
		case <-t.Context().Done():
		}
		leave()
	}()
	answer, err := http.DefaultClient.Do(newQuery(t, ctx, url))
	if err == nil {
		answer.Body.Close()
		t.Fatal("the client got an answer")
	}
	if ended := late.awaitEnd(); !errors.Is(ended, context.Canceled) {
		t.Errorf("the call ended by: %v", ended)
	}
}
