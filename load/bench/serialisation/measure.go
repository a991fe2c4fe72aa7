package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"
)

type subject struct {
	encoded [][]byte // the bodies as Go encodes them
	packed  [][]byte // the same bodies, compressed
	does    map[string]func() error
	times   map[string]int // how often each operation fits into a lap
}

func newSubject(i input) (*subject, error) {
	c, err := codecOf(i.Journey, i.Encoding)
	if err != nil {
		return nil, err
	}
	value, err := c.decode(i.Parts)
	if err != nil {
		return nil, err
	}
	s := &subject{times: map[string]int{}}
	if s.encoded, err = c.encode(value); err != nil {
		return nil, err
	}
	again, err := c.decode(s.encoded)
	if err != nil {
		return nil, err
	}
	if !c.equal(value, again) {
		return nil, errors.New("Go's encoding differs from what it decodes")
	}
	if s.packed, err = pack(s.encoded); err != nil {
		return nil, err
	}
	s.does = map[string]func() error{
		"encode": func() error { _, err := c.encode(value); return err },
		"decode": func() error { _, err := c.decode(s.encoded); return err },
		"gzip":   func() error { _, err := pack(s.encoded); return err },
		"gunzip": func() error { return unpack(s.packed) },
	}
	return s, nil
}

// measure repeats the operation for about the lap's time; it returns CPU time each, µs, garbage collection included.
func (s *subject) measure(operation string, lapUs float64) (float64, error) {
	do, ok := s.does[operation]
	if !ok {
		return 0, fmt.Errorf("there is no operation %s", operation)
	}
	if s.times[operation] == 0 {
		times, took := 1, 0.0
		for {
			var err error
			if took, err = cpuTimeOf(do, times); err != nil {
				return 0, err
			}
			if took >= lapUs/2 {
				break
			}
			times *= 2
		}
		s.times[operation] = max(1, int(float64(times)*lapUs/took))
	}
	times := s.times[operation]
	took, err := cpuTimeOf(do, times)
	return took / float64(times), err
}

// cpuTimeOf returns the CPU time that the given number of calls takes, µs.
func cpuTimeOf(do func() error, times int) (float64, error) {
	began := processorTime()
	for range times {
		if err := do(); err != nil {
			return 0, err
		}
	}
	return float64((processorTime() - began).Nanoseconds()) / 1e3, nil
}

func processorTime() time.Duration {
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// packer is reused, as servers do, because a new writer allocates 1 MB of tables.
var packer, _ = gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)

func pack(parts [][]byte) ([][]byte, error) {
	packed := make([][]byte, len(parts))
	for i, part := range parts {
		var out bytes.Buffer
		packer.Reset(&out)
		if _, err := packer.Write(part); err != nil {
			return nil, err
		}
		if err := packer.Close(); err != nil {
			return nil, err
		}
		packed[i] = out.Bytes()
	}
	return packed, nil
}

func unpack(parts [][]byte) error {
	for _, part := range parts {
		reader, err := gzip.NewReader(bytes.NewReader(part))
		if err != nil {
			return err
		}
		if _, err := io.ReadAll(reader); err != nil {
			return err
		}
	}
	return nil
}

func length(parts [][]byte) int {
	total := 0
	for _, part := range parts {
		total += len(part)
	}
	return total
}
