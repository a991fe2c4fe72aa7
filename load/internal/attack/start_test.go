package attack

import (
	"context"
	"strings"
	"testing"
	"time"

	"hopwise/load/internal/tape"
	"hopwise/load/internal/target"
	"hopwise/load/tests/shoptest"
)

// Journeys of a shard start at their times after the start instant; the wait for it does not count as replay.
func TestStartInstant(t *testing.T) {
	shop := shoptest.Start(t)
	whole := makeTape(t, 40, time.Second)
	shard, err := whole.Shard(tape.Shard{Index: 1, Count: 3})
	if err != nil {
		t.Fatal(err)
	}
	runner := prepare(t, shop.Target(t, target.REST, 2), shard.Entries)
	runner.Timeout = patience
	const ahead = time.Second
	start := time.Now().Add(ahead)
	result, err := Replay(context.Background(), shard, runner, Options{Drain: patience, StartAt: time.Unix(0, start.UnixNano())})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start) + ahead; result.Usage.Wall > took-ahead/2 {
		t.Errorf("the replay took %v of %v, including the wait", result.Usage.Wall, took)
	}
	for i, row := range result.Rows {
		entry := shard.Entries[i]
		if row.Seq != entry.Seq || row.StartedNs < row.IntendedNs {
			t.Errorf("row %d: %+v", i, row)
		}
		// Not compared exactly, because the wall clock may be slewed meanwhile.
		if off := row.IntendedNs - start.UnixNano() - entry.AtNs; off < -int64(time.Millisecond) || off > int64(time.Millisecond) {
			t.Errorf("journey %d was intended %v off its time", entry.Seq, time.Duration(off))
		}
	}
	if len(result.Rows) != len(shard.Entries) {
		t.Errorf("%d of %d journeys", len(result.Rows), len(shard.Entries))
	}
}

// An instant in the past or too far in the future is refused before anything is sent.
func TestStartInstantOutOfReach(t *testing.T) {
	shop := shoptest.Start(t)
	made := makeTape(t, 40, time.Second)
	runner := prepare(t, shop.Target(t, target.REST, 2), made.Entries)
	for want, start := range map[string]time.Time{
		"before the generator was ready": time.Unix(0, time.Now().Add(-time.Millisecond).UnixNano()),
		"passed":                         time.Unix(0, 0),
		"more than 1h0m0s":               time.Now().Add(2 * time.Hour),
	} {
		_, err := Replay(context.Background(), made, runner, Options{Drain: patience, StartAt: start})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; expected %q", start, err, want)
		}
	}
	if seen := shop.Seen(); len(seen) != 0 {
		t.Errorf("%d requests", len(seen))
	}
}

func TestInterruptBeforeTheStart(t *testing.T) {
	shop := shoptest.Start(t)
	made := makeTape(t, 40, time.Second)
	runner := prepare(t, shop.Target(t, target.REST, 2), made.Entries)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	result, err := Replay(ctx, made, runner, Options{Drain: patience, StartAt: began.Add(time.Minute)})
	if err != nil || !result.Interrupted || len(result.Rows) != 0 || time.Since(began) > patience {
		t.Errorf("%+v after %v: %v", result, time.Since(began), err)
	}
}
