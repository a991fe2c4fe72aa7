package link

import (
	"strings"
	"testing"
	"time"
)

func TestParsing(t *testing.T) {
	if rtt, err := ParseRTT("40ms"); err != nil || rtt != 40*time.Millisecond {
		t.Errorf("%v, %v", rtt, err)
	}
	for text, want := range map[string][2]int64{
		"10mbit/2mbit": {10_000_000, 2_000_000}, "1.6mbit/768kbit": {1_600_000, 768_000}, "1gbit": {1_000_000_000, 1_000_000_000},
	} {
		if down, up, err := ParseBandwidth(text); err != nil || [2]int64{down, up} != want {
			t.Errorf("%s: %d, %d, %v", text, down, up, err)
		}
	}
	if n, err := ParseName("4g"); err != nil || n.RTT != 70*time.Millisecond || n.Down != 12_000_000 {
		t.Errorf("%+v, %v", n, err)
	}
	if n, err := ParseName("loopback"); err != nil || n != (Network{}) {
		t.Errorf("%+v, %v", n, err)
	}
}

// Each refusal names the input and what is valid.
func TestRefusals(t *testing.T) {
	for _, text := range []string{"-1", "-1ms", "2h", "", "40", "3s", "0", "1m", "+5ms", "5ms3us"} {
		if _, err := ParseRTT(text); err == nil || !strings.Contains(err.Error(), `"`+text+`"`) || !strings.Contains(err.Error(), "0ms to 2s") {
			t.Errorf("rtt %q: %v", text, err)
		}
	}
	for _, text := range []string{"0", "0mbit", "10", "10mbit/", "/2mbit", "10mbit/0mbit", "-1mbit", "11gbit", "1mbit/1mbit/1mbit", "NaNmbit"} {
		if _, _, err := ParseBandwidth(text); err == nil || !strings.Contains(err.Error(), `"`+text+`"`) || !strings.Contains(err.Error(), "10kbit to 10gbit") {
			t.Errorf("bandwidth %q: %v", text, err)
		}
	}
	if _, err := ParseName("6g"); err == nil || err.Error() != `unknown network "6g"; networks: loopback, lan, wifi, 5g, 4g, 3g` {
		t.Errorf("network: %v", err)
	}
	if err := Visit("second").Check(); err == nil || err.Error() != `unknown visit "second"; visits: warm, first` {
		t.Errorf("visit: %v", err)
	}
}
