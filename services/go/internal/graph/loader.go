package graph

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	mostPerCall = 1_000
	// settling is how long no more keys may come before a batch is sent: goroutines that are ready run in between. A timer
	// of the runtime would take a whole millisecond where nothing else is to do.
	settling = 30 * time.Microsecond
)

// loader reads by key, many in one call, and remembers for as long as the request lasts.
type loader[K comparable, V any] struct {
	fetch   func(context.Context, []K) (map[K]V, error)
	ctx     context.Context
	mu      sync.Mutex
	known   map[K]*reading[V]
	waiting []K
}

type reading[V any] struct {
	done  chan struct{}
	value V
	err   error
}

// Load returns what there is by a key; the zero value stands for nothing.
func (l *loader[K, V]) Load(key K) (V, error) {
	r := l.Expect(key)
	<-r.done
	return r.value, r.err
}

// Expect has what is about to be loaded read ahead, and returns the reading of the last key.
func (l *loader[K, V]) Expect(keys ...K) (last *reading[V]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		r, isKnown := l.known[key]
		if !isKnown {
			r = &reading[V]{done: make(chan struct{})}
			if l.known == nil {
				l.known = make(map[K]*reading[V], len(keys))
			}
			l.known[key] = r
			if l.waiting = append(l.waiting, key); len(l.waiting) == 1 {
				go l.send()
			}
		}
		last = r
	}
	return last
}

// send reads what waits, once nothing more comes.
func (l *loader[K, V]) send() {
	var keys []K
	for came, last := 0, time.Now(); time.Since(last) < settling; runtime.Gosched() {
		l.mu.Lock()
		if keys = l.waiting; len(keys) > came {
			came, last = len(keys), time.Now()
		}
		l.mu.Unlock()
	}
	l.mu.Lock()
	keys, l.waiting = l.waiting, nil
	l.mu.Unlock()
	for chunk := range slices.Chunk(keys, mostPerCall) {
		go l.read(chunk)
	}
}

func (l *loader[K, V]) read(keys []K) {
	values, err := l.fetch(l.ctx, keys)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		r := l.known[key]
		r.value, r.err = values[key], err
		close(r.done)
	}
}
