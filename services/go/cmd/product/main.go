// Command product serves the catalogue and its stock over gRPC; docs/system/your-component.md has its environment.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"hopwise/services/internal/access"
	"hopwise/services/internal/config"
	"hopwise/services/internal/database"
	"hopwise/services/internal/guard"
	"hopwise/services/internal/product"
	"hopwise/services/internal/server"
	pb "hopwise/services/internal/stubs/productv1"
	"hopwise/services/internal/telemetry"
)

func main() {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)).With("component", "product"))
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		if wrong := config.Error(""); errors.As(err, &wrong) {
			os.Exit(config.WrongSetting)
		}
		os.Exit(config.Failed)
	}
}

// run serves until the process is told to stop.
func run() error {
	c, err := config.Read("product", os.Getenv)
	if err != nil {
		return err
	}
	authenticator, err := access.New(c)
	if err != nil {
		return err
	}
	if c.AwaitStdin {
		// What is started meanwhile is there when standard input ends.
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	tracing, err := telemetry.Open(ctx, c)
	if err != nil {
		return err
	}
	defer tracing.Close()
	pool, err := database.Open(ctx, c.DatabaseURL, c.DatabasePool, tracing.Tracer("hopwise/services"))
	if err != nil {
		return err
	}
	defer pool.Close()
	g := &guard.Guard{Authenticator: authenticator, Levels: product.Levels, Delay: c.Delay}
	return server.Serve(ctx, c, pb.ProductService_ServiceDesc, product.New(pool, c.PageTokenKey), g, tracing)
}
