// Command graphql-gateway serves GraphQL over HTTP; docs/system/your-component.md has its environment.
package main

import (
	"context"

	"hopwise/services/internal/config"
	"hopwise/services/internal/gateway"
	"hopwise/services/internal/peer"
	"hopwise/services/internal/process"
	"hopwise/services/internal/server"
)

func main() {
	kind := config.Kind{Listen: "SHOP_LISTEN_HTTP", Peers: []string{"product", "order", "user", "payment"}}
	process.Run("graphql-gateway", kind, serve)
}

func serve(ctx context.Context, p process.Parts) error {
	services, err := peer.Connect(p.Config.Peers, p.Tracing)
	if err != nil {
		return err
	}
	return server.ServeHTTP(ctx, p.Config, gateway.New(services, p.Authenticator, p.Config, p.Tracing))
}
