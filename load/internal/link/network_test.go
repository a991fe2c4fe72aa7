package link

import (
	"strings"
	"testing"
	"time"
)

// Each refusal names the input and the valid range.
func TestRefusals(t *testing.T) {
	for _, good := range []Network{{}, {RTT: 2 * time.Second}, {Down: 10_000, Up: 10_000_000_000}} {
		if err := good.Check(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for message, bad := range map[string]Network{
		"a round-trip time of -1ms is not between 0s and 2s":  {RTT: -time.Millisecond},
		"a round-trip time of 2.1s is not between 0s and 2s":  {RTT: 2100 * time.Millisecond},
		"a bandwidth of 9999 bit/s is neither 0 (no limit)":   {Down: 9_999},
		"a bandwidth of -5 bit/s is neither 0 (no limit) nor": {Up: -5},
	} {
		if err := bad.Check(); err == nil || !strings.HasPrefix(err.Error(), message) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if err := Visit("second").Check(); err == nil || err.Error() != `unknown visit "second"; visits: warm, first` {
		t.Errorf("visit: %v", err)
	}
}
