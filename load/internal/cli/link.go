package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"hopwise/load/internal/link"
)

func newLink() *cobra.Command {
	var (
		network link.Network
		carries []string
	)
	cmd := &cobra.Command{
		Use:   "link --rtt D --carry FROM=TO",
		Short: "Carries connections through an emulated network, such as the one behind a shared cache",
		Long: `Accepts connections at FROM and carries each through an emulated network to TO, until it is interrupted. Addresses are host:port, or
unix:PATH. Each connection has the whole bandwidth, like the link of a single customer.`,
		Example: "  shopload link --rtt 100ms --carry 127.0.0.1:18004=127.0.0.1:18000",
	}
	cmd.Flags().DurationVar(&network.RTT, "rtt", 0, "round-trip time, 0 to 2s")
	cmd.Flags().Int64Var(&network.Down, "down", 0, "bandwidth towards FROM, bits per second; 0 for no limit")
	cmd.Flags().Int64Var(&network.Up, "up", 0, "bandwidth towards TO, bits per second; 0 for no limit")
	cmd.Flags().StringArrayVar(&carries, "carry", nil, "FROM=TO, addresses to carry connections between; may be repeated")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if len(carries) == 0 {
			return badInput{fmt.Errorf("--carry is missing; see %s --help", cmd.CommandPath())}
		}
		if err := network.Check(); err != nil {
			return badInput{err}
		}
		return carry(cmd.Context(), network, carries)
	}
	return cmd
}

func carry(ctx context.Context, network link.Network, carries []string) error {
	clock, err := link.NewClock()
	if err != nil {
		return err
	}
	defer clock.Close()
	relays, ctx := errgroup.WithContext(ctx)
	for _, each := range carries {
		from, to, _ := strings.Cut(each, "=")
		if from == "" || to == "" {
			return badInput{fmt.Errorf("--carry %q is not of the form FROM=TO", each)}
		}
		listener, err := listen(from)
		if err != nil {
			return badInput{err}
		}
		kind, address := kindOf(to)
		relays.Go(func() error { return clock.Relay(ctx, listener, network, kind, address) })
	}
	return relays.Wait()
}

// listen listens at an address; only this user may connect to a Unix socket.
func listen(at string) (net.Listener, error) {
	kind, address := kindOf(at)
	listener, err := net.Listen(kind, address)
	if err == nil && kind == "unix" {
		err = os.Chmod(address, 0o600)
	}
	return listener, err
}

func kindOf(at string) (kind, address string) {
	if path, isUnix := strings.CutPrefix(at, "unix:"); isUnix {
		return "unix", path
	}
	return "tcp", at
}
