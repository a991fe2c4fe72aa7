package watch

import (
	"fmt"

	"hopwise/load/internal/journey"
	"hopwise/load/internal/shopdata"
	"hopwise/load/internal/tape"
)

type Customer struct {
	UserID int64
	Token  string // session token
}

// Customers returns the ids of as many watchers as the count. The tape's buyers come first, in the order of their
// checkouts; then customers whose data the tape's pool may change; then customers whose data is only read.
func Customers(t *tape.Tape, count int) ([]int64, error) {
	var ids []int64
	known := map[int64]bool{}
	add := func(id int64) {
		if !known[id] && len(ids) < count {
			known[id] = true
			ids = append(ids, id)
		}
	}
	for _, entry := range t.Entries {
		if entry.Journey == journey.Checkout {
			add(entry.Params.UserID)
		}
	}
	h := t.Header
	for _, others := range []shopdata.Range{h.Scale.CheckoutUsers(h.Pool), h.Scale.ProfileUsers(h.Pool), h.Scale.LoginUsers()} {
		for id := others.First; id <= others.Last && len(ids) < count; id++ {
			add(id)
		}
	}
	if count < 1 {
		return nil, fmt.Errorf("--watchers %d is not at least 1", count)
	}
	if len(ids) < count {
		return nil, fmt.Errorf("--watchers %d is more than the %d customers of the tape's pool %s at scale %d", count, len(ids), h.Pool, h.Scale)
	}
	return ids, nil
}
