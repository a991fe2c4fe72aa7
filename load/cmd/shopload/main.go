// Command shopload sends the journeys of simulated customers to a shop.
package main

import (
	"os"

	"hopwise/load/internal/cli"
)

func main() { os.Exit(cli.Execute(os.Args[1:], os.Stdout, os.Stderr)) }
