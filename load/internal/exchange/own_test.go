package exchange

import (
	"net"
	"strings"
	"testing"

	"hopwise/load/internal/target"
)

// A connection to another machine is refused, unless the host's owner says that it may be loaded; the shop's clients go anywhere.
func TestOnlyThisMachine(t *testing.T) {
	at := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 80} }
	guard := ownOf(target.Target{Steps: "x", Mine: []string{"mine.example"}})
	for address, to := range map[string]net.Addr{"localhost:80": at("127.0.0.1"), "[::1]:80": at("::1"), "mine.example:80": at("192.0.2.7")} {
		if err := guard.check(address, to); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	err := guard.check("rebound.example:80", at("192.0.2.7"))
	if err == nil || !strings.Contains(err.Error(), "rebound.example is at 192.0.2.7, which is not this machine") {
		t.Error(err)
	}
	if err := ownOf(target.Target{}).check("shop.example:80", at("192.0.2.7")); err != nil {
		t.Error(err)
	}
}
