package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"hopwise/load/internal/echo"
)

func newEcho() *cobra.Command {
	var at echo.Addresses
	cmd := &cobra.Command{
		Use:   "echo --http ADDRESS --grpc ADDRESS",
		Short: "Serves minimal answers, for `shopload max`",
		Long: `Answers HTTP requests (HTTP/1.1, and HTTP/2 without TLS) with their own bodies, and the RPC ` + echo.Method + `
with the requested id, until it is interrupted. Prints its addresses to stdout as one JSON object.`,
		Example: "  shopload echo --http 127.0.0.1:18180 --grpc 127.0.0.1:18181",
	}
	cmd.Flags().StringVar(&at.HTTP, "http", "", "host:port for the HTTP server; port 0 takes any free one")
	cmd.Flags().StringVar(&at.GRPC, "grpc", "", "host:port for the gRPC server; port 0 takes any free one")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if at == (echo.Addresses{}) {
			return badInput{fmt.Errorf("--http and --grpc are both missing; see %s --help", cmd.CommandPath())}
		}
		server, err := echo.Start(at)
		if err != nil {
			return badInput{err}
		}
		defer server.Close()
		if err := printJSON(cmd.OutOrStdout(), server.Addresses); err != nil {
			return err
		}
		return server.Wait(cmd.Context())
	}
	return cmd
}
