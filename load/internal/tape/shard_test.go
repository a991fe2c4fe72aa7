package tape

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hopwise/load/internal/journey"
	"hopwise/load/internal/target"
)

// The shards of a tape have each of its journeys once, in order, and have the same header and digest as the tape.
func TestShards(t *testing.T) {
	whole := &Tape{SHA256: "abc"}
	for seq := range int64(10) {
		whole.Entries = append(whole.Entries, journey.Entry{Seq: seq})
	}
	for count := 1; count <= len(whole.Entries); count++ {
		seen := map[int64]bool{}
		for index := range count {
			shard := Shard{index, count}
			part, err := whole.Shard(shard)
			if err != nil {
				t.Fatal(err)
			}
			if part.SHA256 != whole.SHA256 || len(part.Entries) != shard.Size(len(whole.Entries)) {
				t.Errorf("shard %v: %d journeys of the tape %q", shard, len(part.Entries), part.SHA256)
			}
			last := int64(-1)
			for _, entry := range part.Entries {
				if entry.Seq <= last || seen[entry.Seq] || entry.Seq%int64(count) != int64(index) {
					t.Errorf("shard %v has journey %d", shard, entry.Seq)
				}
				last, seen[entry.Seq] = entry.Seq, true
			}
		}
		if len(seen) != len(whole.Entries) {
			t.Errorf("%d shards have %d journeys", count, len(seen))
		}
	}
	if _, err := whole.Shard(Shard{10, 11}); err == nil || !strings.Contains(err.Error(), "give at most 10 shards") {
		t.Error(err)
	}
}

// The shards' connections add up to the total, and every shard has at least one.
func TestShares(t *testing.T) {
	for count := 1; count < 7; count++ {
		together := 0
		for index := range count {
			together += Shard{index, count}.Share(4)
		}
		if together != max(4, count) {
			t.Errorf("%d shards have %d connections", count, together)
		}
	}
}

func TestShardText(t *testing.T) {
	var s Shard
	if err := s.UnmarshalText([]byte("2/3")); err != nil || s != (Shard{2, 3}) || s.String() != "2/3" {
		t.Errorf("%v, %v", s, err)
	}
	for _, text := range []string{"", "1", "3/3", "-1/3", "0/0", "a/b", "1/2/3", "0/1001"} {
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read as %v", text, s)
		}
	}
}

// A compressed tape is the same tape; the error for a truncated tape names its file.
func TestCompressedTape(t *testing.T) {
	made := build(t, defaultSpec(t))
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err := writer.Write(encode(t, made))
	if err := errors.Join(err, writer.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tape.jsonl.gz")
	for size, ok := range map[int]bool{packed.Len(): true, packed.Len() / 2: false} {
		if err := os.WriteFile(path, packed.Bytes()[:size], 0o644); err != nil {
			t.Fatal(err)
		}
		read, err := Read(path)
		if ok && (err != nil || read.SHA256 != made.SHA256 || len(read.Entries) != len(made.Entries)) {
			t.Errorf("%v", err)
		}
		if !ok && (err == nil || !strings.Contains(err.Error(), path)) {
			t.Errorf("%d of %d bytes: %v", size, packed.Len(), err)
		}
	}
}

func TestMaxWithin(t *testing.T) {
	made := Tape{}
	for _, at := range []int64{0, 10, 25, 30, 35, 50} {
		made.Entries = append(made.Entries, journey.Entry{AtNs: at, Channel: target.Web}, journey.Entry{AtNs: at, Channel: target.Mobile})
	}
	web := []target.Channel{target.Web}
	if got := made.MaxWithin(5, target.Channels()); got != 4 {
		t.Errorf("%d of all channels within 5, expected 4", got)
	}
	for within, want := range map[time.Duration]int{0: 1, 5: 2, 10: 3, 25: 4, 100: 6} {
		if got := made.MaxWithin(within, web); got != want {
			t.Errorf("%d within %d, expected %d", got, within, want)
		}
	}
	if got := (&Tape{}).MaxWithin(time.Second, web); got != 0 {
		t.Errorf("%d of an empty tape", got)
	}
}
