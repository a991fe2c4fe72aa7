// Package echo has a minimal server, which is fast enough to show a load generator's own maximum.
package echo

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"

	"hopwise/proto/stubs/productv1"
)

const (
	stopTimeout = 2 * time.Second
	maxBody     = 1 << 20
)

// Method is the RPC that the server answers.
const Method = productv1.ProductService_GetProduct_FullMethodName

// Addresses are where the server listens, as host:port. It does not serve a protocol whose address is empty.
type Addresses struct {
	HTTP string `json:"http"`
	GRPC string `json:"grpc"`
}

// Server answers HTTP/1.1 and HTTP/2 without TLS with the requests' bodies, and GetProduct with the requested id.
type Server struct {
	Addresses // with the ports that were bound

	http     *http.Server
	grpc     *grpc.Server
	finished chan error
}

func Start(at Addresses) (*Server, error) {
	s := &Server{finished: make(chan error, 2)}
	if at.HTTP != "" {
		listener, err := net.Listen("tcp", at.HTTP)
		if err != nil {
			return nil, err
		}
		s.HTTP = listener.Addr().String()
		var protocols http.Protocols
		protocols.SetHTTP1(true)
		protocols.SetUnencryptedHTTP2(true)
		s.http = &http.Server{Handler: http.HandlerFunc(reply), Protocols: &protocols, ReadHeaderTimeout: stopTimeout}
		go func() { s.finished <- s.http.Serve(listener) }()
	}
	if at.GRPC != "" {
		listener, err := net.Listen("tcp", at.GRPC)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.GRPC = listener.Addr().String()
		s.grpc = grpc.NewServer()
		productv1.RegisterProductServiceServer(s.grpc, products{})
		go func() { s.finished <- s.grpc.Serve(listener) }()
	}
	return s, nil
}

// Wait returns when the context ends, or when serving fails.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.finished:
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	}
}

func (s *Server) Close() {
	if s.http != nil {
		_ = s.http.Close()
	}
	if s.grpc != nil {
		s.grpc.Stop()
	}
}

func reply(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

type products struct {
	productv1.UnimplementedProductServiceServer
}

func (products) GetProduct(_ context.Context, r *productv1.GetProductRequest) (*productv1.Product, error) {
	return &productv1.Product{Id: r.Id}, nil
}
