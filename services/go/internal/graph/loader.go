package graph

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	maxPerCall = 1_000
	// settling is the time without new keys after which a batch is sent: ready goroutines run in the meantime. A timer of
	// the runtime would take a whole millisecond in an idle process.
	settling = 30 * time.Microsecond
)

// loader reads values by key, many in one call, and caches them for the request.
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

// Load returns the value for a key; the zero value if there is no such value.
func (l *loader[K, V]) Load(key K) (V, error) {
	r := l.Expect(key)
	<-r.done
	return r.value, r.err
}

// Expect prefetches the values of keys that will be loaded soon, and returns the reading of the last key.
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

// send reads the values of the waiting keys, once no new keys arrive.
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
	for chunk := range slices.Chunk(keys, maxPerCall) {
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
