// Command graphql-gateway serves GraphQL over HTTP; docs/system/your-component.md describes its environment variables.
package main

import (
	"context"

	"hopwise/services/internal/config"
	"hopwise/services/internal/gateway"
	"hopwise/services/internal/peer"
	"hopwise/services/internal/process"
	"hopwise/services/internal/server"
)

const listenHTTP = "SHOP_LISTEN_HTTP"

func main() {
	kind := config.Kind{Listen: []string{listenHTTP}, Peers: []string{"product", "order", "user", "payment"}}
	process.Run("graphql-gateway", kind, serve)
}

func serve(ctx context.Context, p process.Parts) error {
	services, err := peer.Connect(p.Config.Peers, p.Tracing)
	if err != nil {
		return err
	}
	return server.ServeHTTP(ctx, p.Config.Listen[listenHTTP], gateway.New(services, p.Authenticator, p.Config, p.Tracing))
}
