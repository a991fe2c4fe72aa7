package watch

import (
	"slices"
	"strings"
	"testing"

	"hopwise/load/internal/journey"
	"hopwise/load/internal/shopdata"
	"hopwise/load/internal/tape"
	"hopwise/load/internal/target"
)

// Buyers on the tape come first, each once; then come the other customers of the tape's pool.
func TestCustomers(t *testing.T) {
	made := &tape.Tape{Header: tape.Header{Scale: 1, Pool: shopdata.PoolTrial}}
	for _, user := range []int64{8500, 8001, 8500, 9000} {
		made.Entries = append(made.Entries,
			journey.Entry{Journey: journey.Checkout, Params: journey.Params{UserID: user}},
			journey.Entry{Journey: journey.OrderHistory, Params: journey.Params{UserID: 17}})
	}
	for count, want := range map[int][]int64{2: {8500, 8001}, 5: {8500, 8001, 9000, 8002, 8003}} {
		if got, err := Customers(made, count); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d: %v, %v", count, got, err)
		}
	}
	all, err := Customers(made, 9800)
	if slices.Sort(all); err != nil || len(slices.Compact(all)) != 9800 || all[0] != 1 || all[len(all)-1] != 9900 {
		t.Errorf("%d customers, %v", len(all), err)
	}
	for count, want := range map[int]string{
		0: "--watchers 0 is not at least 1", -1: "--watchers -1 is not", 9801: "--watchers 9801 is more than the 9800 customers of the tape's pool trial at scale 1",
	} {
		if _, err := Customers(made, count); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", count, err)
		}
	}
}

// Customers enter by their channel, if its protocol supports waiting.
func TestEntryOf(t *testing.T) {
	at := target.Target{Topology: "mixed", Entry: map[target.Channel]target.Entry{
		target.Web: {Protocol: target.GraphQL, URL: "web"}, target.Mobile: {Protocol: target.Thrift}, target.Partner: {Protocol: target.REST, URL: "partner"},
	}}
	for _, channel := range []target.Channel{target.Web, target.Partner} {
		if entry, err := EntryOf(at, channel); err != nil || entry.URL != string(channel) {
			t.Errorf("%v, %v", entry, err)
		}
	}
	for channel, want := range map[target.Channel]string{
		target.Mobile: "customers of the channel mobile of topology \"mixed\" speak thrift, over which they cannot wait",
		"fax":         `unknown channel "fax"; channels: web, mobile, partner`,
	} {
		if _, err := EntryOf(at, channel); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
}
