// Command product serves the catalogue and its stock over gRPC; docs/system/your-component.md has its environment.
package main

import (
	"context"

	pb "hopwise/proto/stubs/productv1"
	"hopwise/services/internal/access"
	"hopwise/services/internal/config"
	"hopwise/services/internal/database"
	"hopwise/services/internal/guard"
	"hopwise/services/internal/process"
	"hopwise/services/internal/product"
	"hopwise/services/internal/server"
)

func main() {
	process.Run("product", config.Kind{Listen: "SHOP_LISTEN_GRPC", Database: true}, serve)
}

func serve(ctx context.Context, p process.Parts) error {
	pool, err := database.Open(
		ctx, p.Config.DatabaseURL, p.Config.DatabasePool, p.Tracing.Tracer("hopwise/services"), product.SpanNames)
	if err != nil {
		return err
	}
	defer pool.Close()
	rules := access.RulesOf(pb.File_shop_product_v1_product_proto)
	g := &guard.Guard{
		Authenticator: p.Authenticator, Rules: rules, Compresses: p.Config.Compression == "on", Delay: p.Config.Delay,
	}
	return server.Serve(ctx, p.Config, pb.ProductService_ServiceDesc, product.New(pool, p.Config.PageTokenKey), g, p.Tracing)
}
