package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// A log gets whole lines; a terminal gets one line that is rewritten, and cleared at the end.
func TestLines(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var out bytes.Buffer
		l := start(&out, &Line{what: "replay", total: 200}, time.Minute, terminal, 10*time.Millisecond)
		l.Set(50, 3)
		time.Sleep(100 * time.Millisecond)
		l.Stop()
		text := out.String()
		if !strings.Contains(text, "replay: 50 of 200 journeys sent, 3 failed, 1m0s left") {
			t.Errorf("terminal %v: %q", terminal, text)
		}
		if lines := strings.Count(text, "\n"); (lines == 0) != terminal {
			t.Errorf("terminal %v: %d lines", terminal, lines)
		}
		if strings.HasSuffix(text, "\r\x1b[K") != terminal {
			t.Errorf("terminal %v: ends with %q", terminal, text)
		}
	}
}

// A command that sends no journeys prints its own state.
func TestCustomState(t *testing.T) {
	var out bytes.Buffer
	l := start(&out, &Line{what: "watch", state: func() string { return "17 updates" }}, time.Minute, false, time.Hour)
	l.Stop()
	if out.String() != "watch: 17 updates, 1m0s left\n" {
		t.Errorf("%q", out.String())
	}
}
