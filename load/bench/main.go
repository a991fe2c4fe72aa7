// Command bench compares the generator's own maximum with vegeta's (HTTP) and ghz's (gRPC), on one echo server, in one
// run.
//
// Every round runs each contestant once, with the same number of connections and of requests in flight. The order is
// reversed from round to round. The result is the median of the rounds; the ratio is the ratio of the medians.
//
//	go run ./bench --shopload ../.tools/bin/shopload
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"
)

type settings struct {
	shopload string
	rounds   int
	duration time.Duration
	users    int
	channels int
}

func main() {
	var s settings
	flag.StringVar(&s.shopload, "shopload", "../.tools/bin/shopload", "path of the generator's binary")
	flag.IntVar(&s.rounds, "rounds", 7, "how often each contestant runs")
	flag.DurationVar(&s.duration, "duration", 3*time.Second, "length of each run")
	flag.IntVar(&s.users, "vus", 16, "number of requests in flight, and of connections with HTTP/1.1")
	flag.IntVar(&s.channels, "connections", 4, "number of gRPC connections")
	flag.Parse()
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt)
	defer release()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type pair struct {
	name      string
	contender contestant
	generator contestant
}

func run(ctx context.Context, s settings) error {
	if s.rounds < 1 || s.users < 1 || s.channels < 1 || s.duration <= 0 {
		return fmt.Errorf("rounds %d, vus %d, connections %d and duration %v must be above 0", s.rounds, s.users, s.channels, s.duration)
	}
	shopload, err := filepath.Abs(s.shopload)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "bench-generator-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	fmt.Fprintln(os.Stderr, "building vegeta and ghz unless they are built already (ghz takes about 1 min)")
	tools, err := findTools(ctx)
	if err != nil {
		return err
	}
	server, at, err := startEcho(ctx, shopload)
	if err != nil {
		return err
	}
	defer server()
	pairs := contest(s, shopload, tools, at, scratch)
	measured := map[*contestant][]float64{} // requests per second in each round
	for round := range s.rounds {
		for i := range pairs {
			order := []*contestant{&pairs[i].generator, &pairs[i].contender}
			if round%2 == 1 {
				slices.Reverse(order)
			}
			for _, c := range order {
				rate, err := c.measure(ctx)
				if err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
				fmt.Fprintf(os.Stderr, "round %d of %d: %-9s %-9s %8.0f/s\n", round+1, s.rounds, pairs[i].name, c.name, rate)
				measured[c] = append(measured[c], rate)
			}
		}
	}
	fmt.Printf("%-9s %-8s %14s %14s %7s   (medians of %d rounds of %v, %d requests in flight)\n",
		"protocol", "against", "shopload", "the other", "ratio", s.rounds, s.duration, s.users)
	for i, p := range pairs {
		generator, contender := median(measured[&pairs[i].generator]), median(measured[&pairs[i].contender])
		fmt.Printf("%-9s %-8s %12.0f/s %12.0f/s %6.2fx\n", p.name, p.contender.name, generator, contender, generator/contender)
	}
	return nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
