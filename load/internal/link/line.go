package link

import (
	"slices"
	"sync"
	"time"
)

const (
	segment    = 1460 // bytes of payload in a full segment, with an MTU of 1500
	tcpHeaders = 40   // bytes of IPv4 and TCP headers in each segment, without options
	udpHeaders = 28   // bytes of IPv4 and UDP headers in each datagram
)

// line is one direction of a link: it serialises bits one after another, then each bit travels for the same time.
type line struct {
	rate  int64 // bits per second; 0 if serialisation takes no time
	delay time.Duration

	mu      sync.Mutex
	busy    []span // current and future busy times, in order
	carried int64  // bytes, headers included
}

type span struct{ from, to time.Time }

// carry returns when bytes that are sent no earlier than earliest arrive at the far end.
//
// The bytes take the first free time: while they wait for their connection's window, other bytes can use the line.
func (l *line) carry(now, earliest time.Time, bytes int) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.carried += int64(bytes)
	if l.rate == 0 {
		return earliest.Add(l.delay)
	}
	l.busy = slices.DeleteFunc(l.busy, func(s span) bool { return !s.to.After(now) })
	from, place := earliest, 0
	took := time.Duration(int64(bytes) * 8 * int64(time.Second) / l.rate)
	for place < len(l.busy) && l.busy[place].from.Before(from.Add(took)) {
		if l.busy[place].to.After(from) {
			from = l.busy[place].to
		}
		place++
	}
	to := from.Add(took)
	if place > 0 && l.busy[place-1].to.Equal(from) {
		l.busy[place-1].to = to
	} else {
		l.busy = slices.Insert(l.busy, place, span{from, to})
	}
	return to.Add(l.delay)
}

// onWire returns the size of a part of a stream with its headers; an empty part has headers too.
func onWire(payload int) int { return payload + max((payload+segment-1)/segment, 1)*tcpHeaders }

// size is how many bytes of a stream come out at a time: what the line carries in a millisecond, in whole segments. So
// slow lines deliver one segment after another, and fast lines do not need a timer for each segment.
func (l *line) size() int {
	if l.rate == 0 {
		return maxSize
	}
	perMillisecond := int(l.rate / (8 * 1000))
	return min(max(perMillisecond/(segment+tcpHeaders), 1)*segment, maxSize)
}

const maxSize = 44 * segment // just under the 64 KiB that are read at a time
