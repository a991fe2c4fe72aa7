package graph

import (
	"context"
	"errors"
	"sync"
	"testing"
)

type calls struct {
	mu   sync.Mutex
	made [][]int64
}

func (c *calls) loader(t *testing.T, failure error) *loader[int64, string] {
	return &loader[int64, string]{ctx: t.Context(), fetch: func(_ context.Context, keys []int64) (map[int64]string, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.made = append(c.made, keys)
		return map[int64]string{1: "one", 2: "two"}, failure
	}}
}

func TestKeysExpectedTogetherAreOneCall(t *testing.T) {
	var made calls
	l := made.loader(t, nil)
	l.Expect(1, 2, 3, 2)
	for key, want := range map[int64]string{1: "one", 2: "two", 3: ""} {
		if got, err := l.Load(key); got != want || err != nil {
			t.Errorf("%d: got %q, %v", key, got, err)
		}
	}
	if len(made.made) != 1 || len(made.made[0]) != 3 {
		t.Errorf("the calls are %v", made.made)
	}
}

func TestManyKeysAreSeveralCalls(t *testing.T) {
	var made calls
	l := made.loader(t, nil)
	keys := make([]int64, maxPerCall+1)
	for place := range keys {
		keys[place] = int64(place)
	}
	l.Expect(keys...)
	for _, key := range keys {
		if _, err := l.Load(key); err != nil {
			t.Fatal(err)
		}
	}
	if len(made.made) != 2 || len(made.made[0])+len(made.made[1]) != len(keys) {
		t.Errorf("there are %d calls", len(made.made))
	}
}

func TestFailureReachesAllWaiters(t *testing.T) {
	var made calls
	broken := errors.New("broken")
	l := made.loader(t, broken)
	var all sync.WaitGroup
	for key := range int64(50) {
		all.Go(func() {
			if _, err := l.Load(key); !errors.Is(err, broken) {
				t.Errorf("%d: got %v", key, err)
			}
		})
	}
	all.Wait()
}

func TestGlobalIDs(t *testing.T) {
	if id := GlobalID("Product", 12); id != "UHJvZHVjdDoxMg==" {
		t.Errorf("got %s", id)
	}
	if number, err := Number("UHJvZHVjdDoxMg==", "Product", "id"); number != 12 || err != nil {
		t.Errorf("got %d, %v", number, err)
	}
	for _, other := range []string{"", "12", "UHJvZHVjdDox!", "ü", GlobalID("User", 12), GlobalID("Product", 0), "UHJvZHVjdDoxMg"} {
		if _, err := Number(other, "Product", "id"); err == nil {
			t.Errorf("%q is taken for an id of a product", other)
		}
	}
}
