package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hopwise/load/internal/tape"
)

type shard struct {
	folder  string
	rows    []Row
	figures Generator
}

func (s shard) String() string { return fmt.Sprintf("shard %s (%s)", s.figures.Shard, s.folder) }

// Merge joins the replays of all shards of a tape: rows by seq, and figures as if from a single generator.
func Merge(folders []string) ([]Row, Generator, error) {
	shards := make([]shard, len(folders))
	for i, folder := range folders {
		s := &shards[i]
		s.folder = folder
		var err error
		if s.rows, s.figures, err = read(folder); err != nil {
			return nil, Generator{}, err
		}
	}
	slices.SortFunc(shards, func(a, b shard) int { return cmp.Compare(a.figures.Shard.Index, b.figures.Shard.Index) })
	if err := checkShards(shards); err != nil {
		return nil, Generator{}, err
	}
	var rows []Row
	for _, s := range shards {
		rows = append(rows, s.rows...)
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.Seq, b.Seq) })
	return rows, add(shards, rows), nil
}

// checkShards returns an error unless the shards belong to one replay, and each is complete and appears once.
func checkShards(shards []shard) error {
	first := shards[0]
	for _, s := range shards[1:] {
		for i, setting := range settings(s.figures) {
			if of := settings(first.figures)[i]; of != setting {
				return fmt.Errorf("%v is from another replay than %v: %s is %v, not %v", s, first, setting.name, setting.value, of.value)
			}
		}
	}
	count := first.figures.Shard.Count
	known := make([]string, count)
	for _, s := range shards {
		if other := known[s.figures.Shard.Index]; other != "" {
			return fmt.Errorf("%v is given twice, also in %s", s, other)
		}
		known[s.figures.Shard.Index] = s.folder
	}
	var missing []string
	for index, folder := range known {
		if folder == "" {
			missing = append(missing, tape.Shard{Index: index, Count: count}.String())
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("shard %s is missing", strings.Join(missing, ", "))
	}
	for _, s := range shards {
		if err := s.check(); err != nil {
			return err
		}
	}
	return nil
}

// setting is a setting that all shards of one replay share.
type setting struct {
	name  string
	value any
}

func settings(g Generator) []setting {
	network := "none"
	if g.Network != nil {
		network = fmt.Sprintf("%+v, visit %s", g.Network.Channels, g.Network.Visit)
	}
	return []setting{
		{"the number of shards", g.Shard.Count}, {"tape_sha256", g.TapeSHA256}, {"mode", g.Mode}, {"topology", g.Topology},
		{"trial", g.Trial}, {"plan", g.Plan}, {"http", g.HTTP}, {"trace", g.Trace},
		{"network", network}, {"customers' caches", g.NotModified != nil},
	}
}

// check returns an error unless the shard has each of its journeys once, in order.
func (s shard) check() error {
	of := s.figures.Shard
	if size := of.Size(s.figures.TapeJourneys); len(s.rows) != size || s.figures.Incomplete {
		return fmt.Errorf("%v is incomplete: it has %d of its %d journeys", s, len(s.rows), size)
	}
	for i, row := range s.rows {
		if expected := int64(i*of.Count + of.Index); row.Seq != expected {
			return fmt.Errorf("%v has journey %d instead of %d", s, row.Seq, expected)
		}
	}
	return nil
}

// add returns the figures of all shards together; the generators ran in parallel.
func add(shards []shard, rows []Row) Generator {
	g := shards[0].figures
	if g.Network != nil {
		together := *g.Network
		g.Network = &together
	}
	if g.Tracing != nil {
		together := TracingCost{CostNs: map[string]float64{}}
		for _, s := range shards {
			together.ExportCPUS += s.figures.Tracing.ExportCPUS
			for kind, ns := range s.figures.Tracing.CostNs {
				together.CostNs[kind] += ns / float64(len(shards))
			}
		}
		g.Tracing = &together
	}
	if g.NotModified != nil {
		together := *g.NotModified
		g.NotModified = &together
	}
	for _, s := range shards[1:] {
		of := s.figures
		if g.NotModified != nil {
			*g.NotModified += *of.NotModified
		}
		g.WallS = max(g.WallS, of.WallS)
		g.CPUS += of.CPUS
		g.GCPauseMs += of.GCPauseMs
		g.MaxRSSMb += of.MaxRSSMb
		g.Priority = min(g.Priority, of.Priority) // realtime only if all generators had it
		g.Connections += of.Connections
		g.Dialed += of.Dialed
		if g.Network != nil {
			g.Network.Customers += of.Network.Customers
			g.Network.Late += of.Network.Late
		}
		g.WireBytesIn += of.WireBytesIn
		g.WireBytesOut += of.WireBytesOut
		g.OpeningIn += of.OpeningIn
		g.OpeningOut += of.OpeningOut
		g.SpansExported += of.SpansExported
		g.SpansDropped += of.SpansDropped
		g.GoMaxProcs = min(g.GoMaxProcs, of.GoMaxProcs)
	}
	g.count(rows)
	g.Shard = tape.Whole
	for _, s := range shards {
		g.Shards = append(g.Shards, s.figures)
	}
	return g
}
