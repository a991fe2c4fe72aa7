package cli

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hopwise/load/internal/link"
	"hopwise/load/internal/record"
	"hopwise/load/internal/target"
	"hopwise/load/tests/shoptest"
)

// The figures have the emulated network; figures of shards are added only if all shards had the same network.
func TestNetworkOfAReplay(t *testing.T) {
	shop := shoptest.Start(t)
	near, away := shop.Target(t, target.GraphQL, 2), shop.Target(t, target.GraphQL, 2)
	near.Networks = all(target.Network{RTTMs: 5, Down: 30_000_000, Up: 15_000_000})
	away.Networks, away.Visit = all(target.Network{RTTMs: 2, Down: 30_000_000, Up: 15_000_000}), link.First
	nearPath, awayPath := writeTarget(t, near), writeTarget(t, away)
	tapePath, _ := makeTape(t)
	out := t.TempDir()
	folders := []string{filepath.Join(out, "0"), filepath.Join(out, "1"), filepath.Join(out, "far")}
	for i, rest := range [][]string{{"--shard", "0/2", "--target", nearPath}, {"--shard", "1/2", "--target", nearPath}, {"--shard", "1/2", "--target", awayPath}} {
		succeed(t, append([]string{"replay", "--tape", tapePath, "--out", folders[i]}, rest...)...)
	}
	first, second, far := figuresOf(t, folders[0]).Network, figuresOf(t, folders[1]).Network, figuresOf(t, folders[2]).Network
	if want := alike(record.Link{RTTMs: 5, Down: 30_000_000, Up: 15_000_000}); !maps.Equal(first.Channels, want) || first.Visit != link.Warm || first.Customers == 0 {
		t.Errorf("%+v, expected %+v", *first, want)
	}
	if want := alike(record.Link{RTTMs: 2, Down: 30_000_000, Up: 15_000_000}); !maps.Equal(far.Channels, want) || far.Visit != link.First || far.Customers != figuresOf(t, folders[2]).Journeys {
		t.Errorf("%+v for %d journeys", *far, figuresOf(t, folders[2]).Journeys)
	}
	merged := filepath.Join(out, "merged")
	succeed(t, "merge", "--out", merged, "--part", folders[0], "--part", folders[1])
	got := figuresOf(t, merged)
	if n := got.Network; n.Customers != first.Customers+second.Customers || n.Late != first.Late+second.Late || !maps.Equal(n.Channels, first.Channels) || got.Outcomes["ok"] != got.TapeJourneys {
		t.Errorf("%+v of %+v and %+v: %+v", *n, *first, *second, got)
	}
	if code, _, stderr := run(t, "merge", "--out", merged, "--part", folders[0], "--part", folders[2]); code == exitOK || !strings.Contains(stderr, "network is") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

func all(n target.Network) map[target.Channel]target.Network {
	return map[target.Channel]target.Network{target.Web: n, target.Mobile: n, target.Partner: n}
}

func alike(l record.Link) map[target.Channel]record.Link {
	return map[target.Channel]record.Link{target.Web: l, target.Mobile: l, target.Partner: l}
}

// Each channel has its network from the target file, even without delay; only equal networks share customers.
func TestNetworkOfEachChannel(t *testing.T) {
	shop := shoptest.Start(t)
	at := shop.Target(t, target.GraphQL, 2)
	at.Networks = map[target.Channel]target.Network{target.Web: {RTTMs: 2, Down: 30_000_000, Up: 15_000_000}, target.Mobile: {RTTMs: 40}, target.Partner: {}}
	tapePath, _ := makeTape(t)
	out := t.TempDir()
	succeed(t, "replay", "--tape", tapePath, "--target", writeTarget(t, at), "--out", out)
	want := map[target.Channel]record.Link{target.Web: {RTTMs: 2, Down: 30_000_000, Up: 15_000_000}, target.Mobile: {RTTMs: 40}, target.Partner: {}}
	if got := figuresOf(t, out); !maps.Equal(got.Network.Channels, want) || got.Outcomes["ok"] != got.TapeJourneys || got.Network.Late != 0 {
		t.Errorf("%+v of %+v, expected %+v", *got.Network, got, want)
	}
	mobile := 0
	for _, row := range sentOf(t, out) {
		if row.Channel == target.Mobile {
			mobile++
			if least := int64(row.Waves) * (40 * time.Millisecond).Nanoseconds(); row.LatencyNs < least {
				t.Errorf("%s took %d ns; its %d round trips take %d ns", row.Journey, row.LatencyNs, row.Waves, least)
			}
		}
	}
	if mobile == 0 {
		t.Error("no journey of a mobile customer")
	}
}

// An explicit round-trip time of 0 also gives each journey a separate customer.
func TestNetworkWithoutDistance(t *testing.T) {
	shop := shoptest.Start(t)
	tapePath, _ := makeTape(t)
	at := shop.Target(t, target.REST, 1)
	at.Networks = all(target.Network{})
	out := t.TempDir()
	succeed(t, "replay", "--tape", tapePath, "--target", writeTarget(t, at), "--out", out)
	if got := figuresOf(t, out); got.Network == nil || got.Network.Customers == 0 || !maps.Equal(got.Network.Channels, alike(record.Link{})) || got.Outcomes["ok"] != got.TapeJourneys {
		t.Errorf("%+v of %+v", got.Network, got)
	}
}
