// Command product serves the catalogue and its stock over gRPC and REST; docs/system/your-component.md describes its
// environment variables.
package main

import (
	"context"

	"golang.org/x/sync/errgroup"

	pb "hopwise/proto/stubs/productv1"
	"hopwise/services/internal/access"
	"hopwise/services/internal/config"
	"hopwise/services/internal/database"
	"hopwise/services/internal/guard"
	"hopwise/services/internal/process"
	"hopwise/services/internal/product"
	"hopwise/services/internal/server"
)

const (
	listenGRPC = "SHOP_LISTEN_GRPC"
	listenREST = "SHOP_LISTEN_REST"
)

func main() {
	process.Run("product", config.Kind{Listen: []string{listenGRPC, listenREST}, Database: true}, serve)
}

func serve(ctx context.Context, p process.Parts) error {
	tracer := p.Tracing.Tracer("hopwise/services")
	pool, err := database.Open(ctx, p.Config.DatabaseURL, p.Config.DatabasePool, tracer, product.SpanNames)
	if err != nil {
		return err
	}
	defer pool.Close()
	rules := access.RulesOf(pb.File_shop_product_v1_product_proto)
	g := &guard.Guard{
		Authenticator: p.Authenticator, Rules: rules, Compresses: p.Config.Compression == "on", Delay: p.Config.Delay,
	}
	service := product.New(pool, p.Config.PageTokenKey)
	servers, ctx := errgroup.WithContext(ctx)
	if a, isSet := p.Config.Listen[listenGRPC]; isSet {
		servers.Go(func() error {
			return server.Serve(ctx, a, p.Config.ConnectionAge, pb.ProductService_ServiceDesc, service, g, p.Tracing)
		})
	}
	if a, isSet := p.Config.Listen[listenREST]; isSet {
		servers.Go(func() error { return server.ServeHTTP(ctx, a, product.NewDoor(service, g, tracer)) })
	}
	return servers.Wait()
}
