package link

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// Bytes of all connections leave one after another at the line's rate, and each byte travels for the line's delay.
func TestLineSerialises(t *testing.T) {
	l := line{rate: 8_000_000, delay: 20 * ms} // 1,000 bytes per millisecond
	zero := time.Now()
	at := func(d time.Duration) time.Time { return zero.Add(d) }
	for i, c := range []struct {
		now, earliest time.Duration
		bytes         int
		out           time.Duration
	}{
		{0, 0, 1000, 21 * ms},
		{0, 0, 500, 21*ms + ms/2},                // after the first bytes
		{1 * ms, 10 * ms, 1000, 31 * ms},         // its window admits it later
		{1 * ms, 1 * ms, 4000, 25*ms + ms/2},     // fits before the previous bytes
		{1 * ms, 1 * ms, 8000, 39 * ms},          // does not fit
		{1 * ms, 1 * ms, 4500, 30 * ms},          // fills the gap
		{50 * ms, 50 * ms, 1000, 71 * ms},        // the line has been idle
		{50 * ms, 50 * ms, 1, 71*ms + 1*ms/1000}, // a microsecond
		{60 * ms, 60 * ms, 0, 80 * ms},           // nothing
		{60 * ms, 60 * ms, 2000, 82 * ms},        //
		{60 * ms, 60 * ms, 2000, 84 * ms},        //
	} {
		if out := l.carry(at(c.now), at(c.earliest), c.bytes); !out.Equal(at(c.out)) {
			t.Errorf("%d: out after %v, expected %v", i, out.Sub(zero), c.out)
		}
	}
	if l.carried != 24001 {
		t.Errorf("%d bytes carried", l.carried)
	}
}

// Ten segments in the first round trip, twenty in the second, forty in the third.
func TestWindowDoubles(t *testing.T) {
	const rtt = 100 * ms
	l := line{delay: rtt / 2}
	s := stream{line: &l, back: rtt / 2, window: newWindow()}
	zero := time.Now()
	for i := range 70 {
		trip := 0
		switch {
		case i >= 30:
			trip = 2
		case i >= 10:
			trip = 1
		}
		want := zero.Add(time.Duration(trip)*rtt + rtt/2)
		if out := s.carry(zero, segment); !out.Equal(want) {
			t.Fatalf("segment %d is out after %v, expected %v", i, out.Sub(zero), want.Sub(zero))
		}
		if slowed := s.slowStart(); slowed != trip {
			t.Fatalf("segment %d has waited for %d round trips, expected %d", i, slowed, trip)
		}
	}
}

func TestOnWire(t *testing.T) {
	for payload, want := range map[int]int{0: 40, 1: 41, segment: 1500, segment + 1: 1541, 3 * segment: 4500} {
		if got := onWire(payload); got != want {
			t.Errorf("%d: %d, expected %d", payload, got, want)
		}
	}
	for rate, want := range map[int64]int{1_000_000: segment, 12_000_000: segment, 100_000_000: 8 * segment, 0: maxSize, 10_000_000_000: maxSize} {
		if got := (&line{rate: rate}).size(); got != want {
			t.Errorf("%d bit/s: %d, expected %d", rate, got, want)
		}
	}
}
