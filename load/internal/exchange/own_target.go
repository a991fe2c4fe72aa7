package exchange

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"hopwise/load/internal/target"
)

// own restricts clients of a target other than the shop: they send load only to this machine and to the user's hosts.
type own struct{ mine []string }

func ownOf(t target.Target) *own {
	if t.Steps == "" {
		return nil
	}
	return &own{t.Mine}
}

// check refuses a connection whose actual address is on another machine, unless the user owns the host.
func (o *own) check(address string, to net.Addr) error {
	if o == nil {
		return nil
	}
	if to.Network() == unix {
		return nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	reached, _, err := net.SplitHostPort(to.String())
	if err != nil {
		return err
	}
	named := func(mine string) bool { return strings.EqualFold(mine, host) }
	if ip := net.ParseIP(reached); ip.IsLoopback() || slices.ContainsFunc(o.mine, named) {
		return nil
	}
	return fmt.Errorf("%s is at %s, which is not this machine; if it is yours to load, give --target-is-mine %s", host, reached, host)
}
