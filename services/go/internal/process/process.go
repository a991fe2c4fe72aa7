// Package process has what all programs share: settings, signals, traces, the exit code.
package process

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
	"hopwise/services/internal/telemetry"
)

// Parts has what a component needs for its work.
type Parts struct {
	Config        config.Config
	Authenticator *access.Authenticator
	Tracing       *telemetry.Tracing
}

// Run does a component's work until a signal stops the process, then exits.
func Run(component string, kind config.Kind, work func(context.Context, Parts) error) {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)).With("component", component))
	if err := run(component, kind, work); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		if wrong := config.Error(""); errors.As(err, &wrong) {
			os.Exit(config.WrongSetting)
		}
		os.Exit(config.Failed)
	}
}

func run(component string, kind config.Kind, work func(context.Context, Parts) error) error {
	c, err := config.Read(component, kind, os.Getenv)
	if err != nil {
		return err
	}
	authenticator, err := access.New(c)
	if err != nil {
		return err
	}
	if c.AwaitStdin == "on" {
		// Standard input ends when the components started meanwhile are ready.
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	tracing, err := telemetry.Open(ctx, c)
	if err != nil {
		return err
	}
	defer tracing.Close()
	return work(ctx, Parts{c, authenticator, tracing})
}
