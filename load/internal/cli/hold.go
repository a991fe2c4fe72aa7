package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"hopwise/load/internal/journey"
	"hopwise/load/internal/outcome"
)

// held is printed by the command hold once its connections are open and each has carried a request.
type held struct {
	Dialed int64 `json:"connections_dialed"`
	Sent   int   `json:"journeys"`
}

func newHold() *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use:   "hold --tape FILE --target FILE --connections N",
		Short: "Opens connections, uses each once, and holds them until standard input ends",
		Long: `Opens the connections and sends one "product" journey of the tape for each, one after the other, so that every connection has
carried a request. Then it prints a line and keeps the connections, without sending anything, until standard input ends. Over HTTP/1.1 all
journeys use one connection; each of the others has carried only the health check with which it was opened.`,
		Example: "  shopload hold --tape tape.jsonl --target target.json --connections 100",
	}
	c.register(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := c.read(cmd)
		if err != nil {
			return err
		}
		defer s.runner.Client.Close()
		if err := s.prepare(cmd.Context()); err != nil {
			return err
		}
		sent, err := c.useEach(cmd.Context(), s)
		if err != nil {
			return err
		}
		if err := printJSON(cmd.OutOrStdout(), held{s.runner.Client.Meter().Dialed(), sent}); err != nil {
			return err
		}
		return awaitEnd(cmd.Context(), cmd.InOrStdin())
	}
	return cmd
}

// awaitEnd reads to the end of the input, or returns errInterrupted if the context ends first.
func awaitEnd(ctx context.Context, input io.Reader) error {
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, input)
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return errInterrupted
	}
}

func (c *common) useEach(ctx context.Context, s setup) (sent int, err error) {
	var products []journey.Entry
	for _, entry := range s.tape.Entries {
		if entry.Journey == journey.Product {
			products = append(products, entry)
		}
	}
	if len(products) == 0 {
		return 0, badInput{fmt.Errorf("tape %s: has no journey %q", c.tapePath, journey.Product)}
	}
	for ; sent < c.connections; sent++ {
		row, _ := s.runner.Run(ctx, products[sent%len(products)], time.Now(), false)
		if ctx.Err() != nil {
			return sent, errInterrupted
		}
		if row.Outcome != outcome.OK {
			return sent, fmt.Errorf("journey %d of %d failed: %s: %s", sent+1, c.connections, row.Outcome, row.Error)
		}
	}
	return sent, nil
}
