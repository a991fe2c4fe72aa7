// Command link measures the emulated network over each protocol: it compares the requested figures with those measured
// on an echo server, and times one customer's journeys during another customer's download.
//
// Every round measures every row once, each over a new link and connection; the result is the median of the rounds.
//
//	go run ./bench/link --rounds 5
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"hopwise/load/internal/link"
	"hopwise/load/internal/priority"
)

func main() {
	rounds := flag.Int("rounds", 5, "how often each row is measured")
	asJSON := flag.Bool("json", false, "print everything measured as JSON")
	check := flag.Bool("check", false, "exit with 1 if a row misses its limit")
	flag.Parse()
	missed, err := run(*rounds, *asJSON)
	if err != nil {
		fmt.Fprintln(os.Stderr, "link:", err)
	}
	if err != nil || *check && missed > 0 {
		os.Exit(1)
	}
}

func run(rounds int, asJSON bool) (missed int, err error) {
	if rounds < 1 {
		return 0, fmt.Errorf("--rounds %d is not above 0", rounds)
	}
	if _, err := priority.Apply(priority.Auto); err != nil {
		return 0, err
	}
	clock, err := link.NewClock()
	if err != nil {
		return 0, err
	}
	defer clock.Close()
	protocols, stop, err := serve()
	if err != nil {
		return 0, err
	}
	defer stop()
	b := &bench{plan: whole, clock: clock, protocols: protocols}
	measured, err := b.measure(rounds)
	if err != nil {
		return 0, err
	}
	if asJSON {
		return measured.Missed, json.NewEncoder(os.Stdout).Encode(measured)
	}
	return measured.Missed, measured.print(os.Stdout)
}
