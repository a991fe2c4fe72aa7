package link

import (
	"sync"
	"time"
)

// stream is one direction of a connection, over the line that it shares with the customer's other connections.
type stream struct {
	*queue
	line   *line
	back   time.Duration // travel time of an acknowledgement
	mu     sync.Mutex
	window *window       // nil if the window is never smaller than the line needs
	slowed time.Duration // total time that the stream's bytes so far wait for the window
	left   time.Time     // when the stream's last byte so far leaves
}

func (l *Link) stream(over *line) *stream {
	s := &stream{queue: newQueue(l.clock), line: over, back: l.network.RTT - over.delay}
	if l.visit == First {
		s.window = newWindow()
	}
	return s
}

func (s *stream) send(data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	data = append([]byte(nil), data...)
	size := s.line.size()
	if s.window != nil {
		size = segment
	}
	for len(data) > 0 {
		part := data[:min(size, len(data))]
		data = data[len(part):]
		s.add(&parcel{Passage: Passage{now, s.carry(now, len(part))}, data: part, more: len(data) > 0})
	}
}

// slowStart returns how many round trips, in total, the bytes sent so far wait for the window.
func (s *stream) slowStart() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	roundTrip := s.line.delay + s.back
	if roundTrip == 0 {
		return 0
	}
	return int((s.slowed + roundTrip/2) / roundTrip)
}

// end puts the stream's end after all sent data, and returns when the end comes out.
func (s *stream) end(err error) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	due := s.carry(now, 0)
	s.add(&parcel{Passage: Passage{now, due}, err: err})
	return due
}

// carry returns when the bytes come out: after earlier bytes, and not before the window admits them.
func (s *stream) carry(now time.Time, payload int) time.Time {
	earliest := now
	if s.left.After(now) {
		earliest = s.left
	}
	if s.window != nil {
		opens := s.window.opens(earliest, payload)
		s.slowed += opens.Sub(earliest)
		earliest = opens
	}
	due := s.line.carry(now, earliest, onWire(payload))
	s.left = due.Add(-s.line.delay)
	if s.window != nil {
		s.window.sent(payload, due.Add(s.back))
	}
	return due
}
