package main

import (
	"fmt"
	"io"
	"math"
	"slices"
)

type measured struct {
	Rounds     int         `json:"rounds"`
	Rows       []row       `json:"rows"`
	Neighbours []neighbour `json:"neighbours"`
	Missed     int         `json:"missed"` // rows and neighbours that are not OK
	CPUS       float64     `json:"cpu_s"`  // client, network and servers together
	WallS      float64     `json:"wall_s"`
}

type row struct {
	Protocol string    `json:"protocol"`
	What     string    `json:"what"` // rtt, down or up
	Unit     string    `json:"unit"`
	Asked    float64   `json:"asked"`
	Measured []float64 `json:"measured"`          // by round
	Goodput  []float64 `json:"goodput,omitempty"` // payload's share of the bytes on the line, by round
	Median   float64   `json:"median"`
	Limit    float64   `json:"limit"` // maximum error of the median
	OK       bool      `json:"ok"`
}

// neighbour is the effect of another customer's download on one customer's journeys.
type neighbour struct {
	Protocol string     `json:"protocol"`
	Shared   bool       `json:"shared"`    // whether the two share a link, so that an effect is expected
	AloneMs  []float64  `json:"alone_ms"`  // mean time of a journey without the download, by pair
	EffectMs []float64  `json:"effect_ms"` // how much longer a journey takes with the download, by pair
	MedianMs float64    `json:"median_ms"`
	CI95Ms   [2]float64 `json:"ci95_ms"` // interval of the median; both 0 if there are too few pairs
	OK       bool       `json:"ok"`      // whether the interval shows no slowdown; on a shared link, whether it shows one
}

func (m *measured) add(rows []row, neighbours []neighbour) {
	if m.Rows == nil {
		m.Rows, m.Neighbours = rows, neighbours
		return
	}
	for i, r := range rows {
		m.Rows[i].Measured = append(m.Rows[i].Measured, r.Measured...)
		m.Rows[i].Goodput = append(m.Rows[i].Goodput, r.Goodput...)
	}
	for i, n := range neighbours {
		m.Neighbours[i].AloneMs = append(m.Neighbours[i].AloneMs, n.AloneMs...)
		m.Neighbours[i].EffectMs = append(m.Neighbours[i].EffectMs, n.EffectMs...)
	}
}

func (r *row) judge() {
	r.Median = median(r.Measured)
	r.OK = math.Abs(r.Median-r.Asked) <= r.Limit
}

func (n *neighbour) judge() {
	n.MedianMs = median(n.EffectMs)
	low, high, known := interval(n.EffectMs)
	n.CI95Ms = [2]float64{low, high}
	if n.Shared {
		n.OK = n.MedianMs > toleratedMs
	} else {
		n.OK = known && low <= 0
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// interval returns a 95 % confidence interval for the median, valid for any distribution of the values. Its ends leave
// out at most 2.5 % of the sign test's distribution on each side. Fewer than six values have no interval.
func interval(values []float64) (low, high float64, ok bool) {
	sorted := slices.Sorted(slices.Values(values))
	n, left := len(sorted), 0
	for tail, term := 0.0, math.Pow(0.5, float64(n)); tail+term <= 0.025; left++ {
		tail += term
		term *= float64(n-left) / float64(left+1)
	}
	if left == 0 {
		return 0, 0, false
	}
	return sorted[left-1], sorted[n-left], true
}

func (m measured) print(out io.Writer) error {
	fmt.Fprintf(out, "%-9s %-16s %10s %22s %9s %8s\n", "protocol", "asked", "median", "range", "off by", "payload")
	for _, r := range m.Rows {
		off, payload := fmt.Sprintf("%+.3f ms", r.Median-r.Asked), ""
		if r.What != "rtt" {
			off, payload = fmt.Sprintf("%+.2f %%", 100*(r.Median/r.Asked-1)), fmt.Sprintf("%.1f %%", 100*median(r.Goodput))
		}
		fmt.Fprintf(out, "%-9s %-16s %10.3f %22s %9s %8s %s\n", r.Protocol, fmt.Sprintf("%s %g %s", r.What, r.Asked, r.Unit), r.Median,
			fmt.Sprintf("%.3f to %.3f", slices.Min(r.Measured), slices.Max(r.Measured)), off, payload, verdict(r.OK))
	}
	fmt.Fprintf(out, "\nJourneys of 1 kB during another customer's download of 1 MB, minus journeys without it, 20 ms and 10 Mbit/s each\n")
	fmt.Fprintf(out, "%-9s %-10s %6s %10s %12s %22s\n", "protocol", "links", "pairs", "alone", "longer by", "95 % interval")
	for _, n := range m.Neighbours {
		links, within := "their own", fmt.Sprintf("%+.3f to %+.3f ms", n.CI95Ms[0], n.CI95Ms[1])
		if n.Shared {
			links = "one"
		}
		if n.CI95Ms == [2]float64{} {
			within = "–"
		}
		fmt.Fprintf(out, "%-9s %-10s %6d %7.3f ms %+9.3f ms %22s %s\n", n.Protocol, links, len(n.EffectMs), median(n.AloneMs), n.MedianMs, within,
			verdict(n.OK))
	}
	_, err := fmt.Fprintf(out, "\n%d missed, %d rounds; CPU %.1f s in %.0f s, client, network and server together\n", m.Missed, m.Rounds, m.CPUS, m.WallS)
	return err
}

func verdict(ok bool) string {
	if ok {
		return "ok"
	}
	return "MISSED"
}
