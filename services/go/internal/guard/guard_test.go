package guard

import (
	"testing"
	"time"
)

func TestEdgeWait(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"1": time.Millisecond, "4750": 4750 * time.Millisecond,
		"0": defaultWait, "": defaultWait, "-1": defaultWait, "+5": defaultWait, "1e3": defaultWait, "99999999999": defaultWait,
	} {
		if got := edgeWait(header); got != want {
			t.Errorf("%q: got %s, want %s", header, got, want)
		}
	}
}
